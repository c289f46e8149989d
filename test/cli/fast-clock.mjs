// Loaded before the command line: each look at the clock finds a tenth of a second gone, so that any
// run with some entries takes over a second.
const now = Date.now;
let ahead = 0;
Date.now = () => {
  ahead += 100;
  return now() + ahead;
};
