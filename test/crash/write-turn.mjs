/* An agent that changes files by the library: what is run and killed in `sweep.test.ts`. */
import { openTurn } from '../../dist/index.js';

const turn = await openTurn({
  root: process.cwd(),
  store: process.env.PREIMAGE_STORE,
  turn: 'three',
});
turn.write('plain.txt', 'plain, after three\n');
turn.write('secret.env', 'TOKEN=2, longer than before\n');
turn.write('many/2.txt', 'written by the library\n');
turn.write('many/made.txt', 'made by the library\n');
turn.write('large.bin', Buffer.alloc(200_000, 'other '));
await turn.close();
