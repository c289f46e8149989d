// Opens or closes a step by the built library, whose watcher host is a program of its own:
// `node turn-program.mjs open|close ROOT STORE WATCHER`. Prints what a close found as JSON.
import { closeTurn, openHook, openStore } from '../../dist/index.js';

const [act, root = '', store = '', watcher = 'default'] = process.argv.slice(2);
const which = { root, store, turn: 'one' };
if (act === 'open') {
  await openHook({ ...which, watcher });
} else {
  const { changes, record } = await closeTurn(which);
  const history = openStore(which);
  const { events } = history.timeline('one');
  history.close();
  const paths = changes.map(({ path }) => path);
  console.log(JSON.stringify({ paths, timeline: record.timeline, events }));
}
