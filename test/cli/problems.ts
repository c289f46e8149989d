import { expect } from 'vitest';
import type { Lab, Run, RunOptions } from '../support/cli.js';

/** What one wrong call must come to. */
export type Problem = RunOptions & {
  readonly code: number;
  /** What the message or the hint says. */
  readonly says: readonly RegExp[];
};

/**
 * Makes a call twice and expects the same trouble: in words on stderr, and with `--json` as one document
 * `{ error: { code, message, hint } }` on stdout (for `watch` on stderr: stdout is the command's).
 */
export async function expectProblem(
  { run }: Lab,
  args: readonly string[],
  { code, says, ...options }: Problem,
): Promise<void> {
  const words = await run(args, options);
  expect({ args, ...words }).toMatchObject({ code, stdout: '' });
  expect(words.stderr).not.toMatch(/\n\s+at .*:\d+:\d+/);
  for (const part of says) expect(words.stderr).toMatch(part);

  const [command = '', ...rest] = args;
  const machine = await run([command, '--json', ...rest], options);
  expect({ args: [command, '--json', ...rest], ...machine }).toMatchObject({ code });
  const { message, hint } = errorOf(command, machine);
  for (const part of says) expect(`${message}\n${hint}`).toMatch(part);
}

/** Reads the error document of a call with `--json`; fails where there is anything else. */
export function errorOf(command: string, { stdout, stderr }: Run): Record<string, string> {
  const [own, other] = command === 'watch' ? [stderr, stdout] : [stdout, stderr];
  expect(other).toBe('');
  const document: unknown = parsed(own);
  expect(document).toEqual({
    error: {
      code: expect.stringMatching(/^[a-z-]+$/),
      message: expect.stringMatching(/\S/),
      hint: expect.any(String),
    },
  });
  return (document as { error: Record<string, string> }).error;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`not one JSON document: ${JSON.stringify(text)}`);
  }
}
