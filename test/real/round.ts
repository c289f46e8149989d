import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import type { Lab, Run } from '../support/cli.js';
import { type Snapshot, snapshot } from '../support/tree.js';

/** A rewind as `--json` tells it, with the exit code. */
export type Rewound = {
  readonly code: number;
  readonly complete: boolean;
  readonly outcomes: readonly Outcome[];
};
export type Outcome = { readonly path: string; readonly outcome: string; readonly reason?: string };

/** How a round is made. */
export type RoundOptions = {
  /** Options of `watch`. */
  readonly watch?: readonly string[];
  /** Options and arguments of `rewind`. */
  readonly rewind?: readonly string[];
  /** Where both are called; the workspace if left out. */
  readonly cwd?: string;
  /** Paths that are not compared. */
  readonly skip?: (relative: string) => boolean;
};

/** What a round came to: the tree as it was, as the turn left it, and the rewind. */
export type Round = {
  readonly before: Snapshot;
  readonly left: Snapshot;
  readonly watched: Run;
  readonly rewound: Rewound;
};

/** No program of a test reads the machine's own settings, or writes where it only looks. */
const CALM: NodeJS.ProcessEnv = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
  GIT_OPTIONAL_LOCKS: '0',
  PYTHONDONTWRITEBYTECODE: '1',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
};

/** The environment of a lab's programs. */
export function calm({ env }: Pick<Lab, 'env'>): NodeJS.ProcessEnv {
  return { ...env, ...CALM };
}

/**
 * Runs a shell script as one turn, rewinds it, and holds what every such round promises: the script
 * ended well and did change something, the rewind says that it is complete, and the tree is what it was.
 */
export async function thereAndBack(
  lab: Lab,
  script: string,
  options: RoundOptions = {},
): Promise<Round> {
  const round = await turnAndRewind(lab, script, options);
  expect(differences(round.before, round.left), 'the turn changes something').not.toEqual([]);
  expect(troubles(round.rewound)).toEqual([]);
  expect(differences(round.before, snapshot(lab.root, options.skip))).toEqual([]);
  expect({ code: round.rewound.code, complete: round.rewound.complete }).toEqual({
    code: 0,
    complete: true,
  });
  return round;
}

/** Runs a shell script as one turn and rewinds it; promises only that the script ended well. */
export async function turnAndRewind(
  lab: Lab,
  script: string,
  options: RoundOptions = {},
): Promise<Round> {
  const where = { env: calm(lab), ...(options.cwd === undefined ? {} : { cwd: options.cwd }) };
  const before = snapshot(lab.root, options.skip);
  const watched = await lab.run(
    ['watch', ...(options.watch ?? []), '--', 'sh', '-ec', script],
    where,
  );
  expect(watched.code, `${watched.stdout}${watched.stderr}`).toBe(0);
  const left = existsSync(lab.root) ? snapshot(lab.root, options.skip) : {};
  const rewound = rewoundFrom(
    await lab.run(['rewind', '--json', ...(options.rewind ?? [])], where),
  );
  return { before, left, watched, rewound };
}

/** Reads what `rewind --json` printed. */
export function rewoundFrom({ code, stdout, stderr }: Run): Rewound {
  expect(stderr).toBe('');
  const { complete, outcomes, ...rest }: Omit<Rewound, 'code'> = JSON.parse(stdout);
  expect(rest).not.toHaveProperty('error');
  return { code, complete, outcomes };
}

/** The outcomes that left a path as it was although it should have gone back. */
export function troubles({ outcomes }: Rewound): Outcome[] {
  return outcomes.filter(({ outcome }) => !['restored', 'deleted', 'unchanged'].includes(outcome));
}

/** Names every path at which two snapshots differ, and how; the first few where they are many. */
export function differences(wanted: Snapshot, got: Snapshot): string[] {
  const paths = [...new Set([...Object.keys(wanted), ...Object.keys(got)])].sort();
  const lines = paths
    .filter((path) => wanted[path] !== got[path])
    .map((path) => `${path}: ${wanted[path] ?? 'absent'} → ${got[path] ?? 'absent'}`);
  return lines.length > MANY ? [...lines.slice(0, MANY), `and ${lines.length - MANY} more`] : lines;
}

const MANY = 12;
