// Swaps directories for symbolic links to another place and back, as fast as it can, until it is
// killed: `swap.mjs ROOT OUTSIDE DIRECTORY…`. What was swapped away stays below the root. Prints a
// line once it runs, and on a line of input puts all back, prints how often it swapped, and ends.
import fs from 'node:fs';
import { join } from 'node:path';

const [root, outside, ...directories] = process.argv.slice(2);
let swaps = 0;
let over = false;
process.stdin.once('data', () => {
  over = true;
});
process.stdout.write('swapping\n');
while (!over) {
  for (let i = 0; i < 200; i++) {
    const directory = join(root, directories[i % directories.length]);
    const aside = join(root, `.aside-${i % directories.length}`);
    // Each step may find that the rewind has just taken the directory away or made it anew.
    if (!tried(() => fs.renameSync(directory, aside))) continue;
    const link = join(outside, directories[i % directories.length]);
    if (tried(() => fs.symlinkSync(link, directory))) tried(() => fs.unlinkSync(directory));
    if (!tried(() => fs.renameSync(aside, directory))) {
      tried(() => fs.rmSync(aside, { recursive: true }));
    }
    swaps += 1;
  }
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(`${swaps}\n`);

function tried(step) {
  try {
    step();
    return true;
  } catch (error) {
    if (error.syscall === undefined) throw error;
    return false;
  }
}
