import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { type Run, runProcess } from './support/cli.js';
import { temporary } from './support/tree.js';

const DEMO = fileURLToPath(new URL('../fixtures/demo.mjs', import.meta.url));
const README = fileURLToPath(new URL('../README.md', import.meta.url));
const TIMEOUT_MS = 120_000;

type Row = {
  readonly by: string;
  readonly what: string;
  readonly wrong: readonly { readonly path: string; readonly is: string }[];
};

test(
  'git recipes leave paths of an agent’s turn wrong, preimage leaves none',
  async () => {
    const { code, stdout, stderr } = await demo('--json');
    expect(stderr).toBe('');
    const { rows, complete }: { rows: Row[]; complete: boolean } = JSON.parse(stdout);
    expect(rows.map(({ what, wrong }) => [what, wrong.map(told).join(' ')])).toEqual([
      [
        'nothing is undone',
        '.env:changed app.js:changed index.html:changed styles.css:changed theme.css:extra',
      ],
      ['git checkout -- .', '.env:changed index.html:changed theme.css:extra'],
      ['git stash -u', '.env:changed index.html:changed notes.md:gone'],
      ['git checkout -- . && git clean -fd', '.env:changed index.html:changed notes.md:gone'],
      ['git stash create, git checkout ID .', '.env:changed theme.css:extra'],
      ['preimage watch, preimage rewind', ''],
      ['the turn in three steps, rewound', ''],
      ['turns 1, 2, 3, rewind of 1', ''],
      ['then redo: as after turn 3', ''],
    ]);
    expect({ complete, code }).toEqual({ complete: true, code: 0 });
  },
  TIMEOUT_MS,
);

test(
  'the demo fits 80 columns, ends with one sentence, and the README shows its tables',
  async () => {
    const { code, stdout } = await demo();
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.at(-1)).toBe(
      'preimage put every path back; 4 of 4 git recipes left some path wrong.',
    );
    const tables = lines.slice(
      lines.findIndex((line) => line.startsWith('undone by')),
      -2,
    );
    expect(readFileSync(README, 'utf8')).toContain(`\n\`\`\`\n${tables.join('\n')}\n\`\`\`\n`);
  },
  TIMEOUT_MS,
);

test(
  'the demo fails when a rewind does nothing, for its table is measured',
  async () => {
    const fake = path.join(temporary('preimage-fake'), 'cli.mjs');
    writeFileSync(
      fake,
      `import { spawnSync } from 'node:child_process';
       const at = process.argv.indexOf('--');
       if (at > 0) spawnSync(process.argv[at + 1], process.argv.slice(at + 2));`,
    );
    const { code, stdout } = await demo('--cli', fake);
    expect(code).toBe(1);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe(
      'preimage did NOT put everything back: .env, app.js, index.html, styles.css, theme.css.',
    );
  },
  TIMEOUT_MS,
);

function demo(...args: string[]): Promise<Run> {
  return runProcess(process.execPath, [DEMO, ...args], { cwd: '.', env: process.env });
}

function told({ path: name, is }: Row['wrong'][number]): string {
  return `${name}:${is}`;
}
