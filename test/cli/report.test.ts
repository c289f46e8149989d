import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Lab, lab } from '../support/cli.js';
import { exec, symlink, tree } from '../support/tree.js';
import { expectProblem } from './problems.js';

type Doc = {
  since: string | null;
  turns: {
    turn: string;
    gitFiles: number;
    files: {
      path: string;
      secret: boolean;
      added: number;
      removed: number;
      diff: { lines: string[]; cut: number; left: string };
    }[];
    timeline: { complete: boolean; events: { path: string }[]; cut: number };
  }[];
};

test('a report in Markdown has the paths in a table, their diffs and the timeline', async () => {
  const it = await shop();
  const { stdout, stderr, code } = await it.run(['report', 't1']);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  expect(stdout).toMatch(/^## What 1 turn touched in `ws`\n/);
  expect(stdout).toMatch(/^### `t1`: Restyle &#60;b&#62;all&#60;\/b&#62;$/m);
  expect(stdout).toContain('closed: 1 created, 1 modified, 1 deleted; +3 −2 lines');
  expect(stdout).toMatch(/^- `step 1 {2}sh -c .* exit 0`$/m);
  expect(stdout).toMatch(/^\| M \| `a\.css` \| \+2 −1 \| 11 B → 21 B \|$/m);
  expect(stdout).toMatch(/^\| D \| `old\.txt` \| \+0 −1 \| 4 B \|$/m);
  expect(stdout).toContain('<details><summary><code>a.css</code></summary>\n\n```diff\n');
  expect(stdout).toContain('\n-h1 { red }\n+h1 { blue }\n+more { }\n');
  expect(stdout).toMatch(/<summary>Timeline \(\w+\), complete&#58; \d+ events<\/summary>/);
});

test('without a turn the newest is reported, with --since all since then, named ones as they are named', async () => {
  const it = await shop();
  await it.turn('echo 2 > b.txt', '--turn', 'two');
  await it.turn('echo 3 > b.txt', '--turn', 'three');
  const ids = async (...args: string[]): Promise<string[]> =>
    (await it.json<Doc>(['report', ...args])).turns.map(({ turn }) => turn);
  expect(await ids()).toEqual(['three']);
  expect(await ids('--since', '1h')).toEqual(['three', 'two', 't1']);
  expect(await ids('t1', 'three', 't1')).toEqual(['t1', 'three']);
  await expectProblem(it, ['report', 'nope'], { code: 3, says: [/nope/] });
  await expectProblem(it, ['report', '--since', '0s'], { code: 3, says: [/no turn/] });
  await expectProblem(it, ['report', 't1', '--since', '1h'], { code: 2, says: [/exclude/] });
  await expectProblem(it, ['report', '--format', 'pdf'], { code: 2, says: [/md, html/] });
});

test('what is in files whose names look like secrets is held back, and they carry a mark', async () => {
  const it = lab();
  tree(it.root, { '.env': 'KEY=FORMER\n', 'a.txt': 'a\n', keys: { 'tls.pem': 'FORMER\n' } });
  await it.turn(
    'echo KEY=HIDDEN > .env; echo HIDDEN > keys/tls.pem; echo seen > a.txt; rm -rf x',
    '--label',
    'x',
  );
  for (const format of ['md', 'html', 'json']) {
    const { stdout } = await it.run(['report', '--format', format]);
    // The command itself is told as it ran.
    const without = stdout.replace(/sh -c[^\n]*|"echo KEY[^\n]*/g, '');
    expect(without).not.toContain('HIDDEN');
    expect(without).not.toContain('FORMER');
    expect(without).toContain('seen');
  }
  const { turns } = await it.json<Doc>(['report']);
  const files = turns[0]?.files.map((file) => [file.path, file.secret, file.diff.left]);
  expect(files).toEqual([
    ['.env', true, 'secret'],
    ['a.txt', false, 'nothing'],
    ['keys/tls.pem', true, 'secret'],
  ]);
  const shown = await it.run(['report', '--secrets']);
  expect(shown.stdout).toContain('+KEY=HIDDEN');
  expect(shown.stdout).toMatch(/^\| M \| `\.env` \| \+1 −1 \| secret\?; /m);
});

test('nothing in a name, a label, a command or a file is markup in Markdown', async () => {
  const it = lab();
  tree(it.root, {
    'fence.md': 'a\n````\n<script>x</script>\n',
    '`tick`.txt': 'x\n',
    'a|b.txt': 'x\n',
    '<b>x</b>.txt': 'x\n',
    'new\nline.txt': 'x\n',
    '@user_*x*.txt': 'x\n',
  });
  await it.turn(
    'for f in *; do echo "\u202e bidi" >> "$f"; done',
    '--label',
    '@all # [x](http://x) www.x.y | `c`',
  );
  const { stdout } = await it.run(['report']);
  expect(stdout).toContain(
    '&#64;all &#35; &#91;x&#93;(http&#58;//x) www&#46;x.y &#124; &#96;c&#96;',
  );
  expect(stdout).toMatch(/^\| M \| `` `tick`\.txt `` \|/m);
  expect(stdout).toMatch(/^\| M \| <code>a&#124;b\.txt<\/code> \|/m);
  expect(stdout).toMatch(/^\| M \| `"new\\nline\.txt"` \|/m);
  expect(stdout).toMatch(/^\| M \| `@user_\*x\*\.txt` \|/m);
  expect(stdout).toMatch(/^`````diff$/m);
  expect(stdout).not.toContain('<b>');
  expect(stdout).not.toContain('\u202e');
  expect(stdout).toContain('+\\u{202e} bidi');
  const { stdout: page } = await it.run(['report', '--format', 'html']);
  expect(page).not.toContain('<b>');
  expect(page).not.toContain('\u202e');
});

test('long diffs are cut, a full report says so, and Markdown fits into a pull request', async () => {
  const it = lab();
  tree(it.root, { 'long.txt': 'x\n' });
  await it.turn(
    'seq 5000 > long.txt; for i in $(seq 400); do seq 60 > f$i.txt; done; ' +
      'head -c 9000 /dev/zero | tr "\\0" é > line.txt; head -c 100 /dev/zero > zero.bin; ' +
      'head -c 5000000 /dev/zero | tr "\\0" "\\n" > huge.txt',
  );
  const { stdout } = await it.run(['report', '--format', 'md']);
  expect(stdout.length).toBeLessThan(65_536);
  expect(stdout).toMatch(/^204 more paths are not listed\.$/m);
  expect(stdout).toMatch(/^The diffs of \d+ more files are not shown: the report is full\.$/m);
  const { turns } = await it.json<Doc>(['report']);
  const files = new Map(turns[0]?.files.map((file) => [file.path, file]));
  expect(files.get('long.txt')).toMatchObject({ added: 5000, diff: { cut: 5005 - 400 } });
  expect(files.get('huge.txt')?.diff).toMatchObject({ lines: [], left: 'too-large' });
  expect(files.get('zero.bin')?.diff).toMatchObject({ lines: [], left: 'binary' });
  expect(files.get('f400.txt')).toMatchObject({ added: 60, diff: { cut: 0 } });
  for (const line of files.get('line.txt')?.diff.lines ?? [])
    expect(line.length).toBeLessThan(2010);
});

test('each kind of change is in the page: modes, links, directories, types', async () => {
  const it = lab();
  tree(it.root, { run: exec('x\n'), mode: 'm\n', l: symlink('a'), t: 'file\n' });
  await it.turn('chmod 755 mode; ln -sfn b l; rm t; ln -s l t; mkdir d; rm run', '--no-watch');
  const { stdout } = await it.run(['report', '--format', 'html']);
  const text = stdout.slice(stdout.indexOf('<body>')).replace(/<[^>]*>/g, ' ');
  for (const part of [
    /P\s+mode\s+0644 → 0755/,
    /M\s+l\s+→ b/,
    /T\s+t\s+file → symlink/,
    /A\s+d\/\s/,
    /D\s+run/,
  ]) {
    expect(text).toMatch(part);
  }
  expect(text).toContain('old mode 100644');
  expect(text).toContain('not complete: nothing watched');
});

test('what moved in git is told, and its own files are not listed', async () => {
  const it = lab();
  await it.turn(
    'git init -qb main . && git -c user.name=n -c user.email=e commit -qm one --allow-empty; echo > a.txt',
  );
  const { turns } = await it.json<Doc>(['report']);
  expect(turns[0]?.files.map((file) => file.path)).toEqual(['a.txt']);
  expect(turns[0]?.gitFiles).toBeGreaterThan(10);
  expect(turns[0]?.timeline.events.every((event) => event.path === 'a.txt')).toBe(true);
  const { stdout } = await it.run(['report']);
  expect(stdout).toMatch(/^- `HEAD made, on main {2}[0-9a-f]{7}/m);
});

test('a rule that the run broke is told in each format', async () => {
  const it = lab();
  await it.run(['watch', '--deny', '*.key', '--', 'sh', '-c', 'echo x > a.key']);
  expect((await it.run(['report'])).stdout).toMatch(/^- `rule broken: a\.key: .*\*\.key.*`$/m);
  const { stdout } = await it.run(['report', '--format', 'html']);
  expect(stdout).toMatch(/<li>rule broken: a\.key: /);
  expect((await it.run(['report', '--json'])).stdout).toContain('"broken"');
});

test('--out writes a new private file, takes the format from its name, and replaces only a plain file by force', async () => {
  const it = await shop();
  const out = path.join(it.home, '..', 'report.html');
  const made = await it.run(['report', '--out', out]);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/report\.html: t1\n$/);
  expect(fs.readFileSync(out, 'utf8')).toMatch(/^<!doctype html>/);
  expect(fs.statSync(out).mode & 0o777).toBe(0o600);
  await expectProblem(it, ['report', '--out', out], { code: 2, says: [/exists/, /--force/] });
  fs.writeFileSync(out, 'mine');
  expect(await it.run(['report', '--out', out, '--force', '--quiet'])).toMatchObject({
    code: 0,
    stdout: '',
  });
  expect(fs.readFileSync(out, 'utf8')).toMatch(/^<!doctype html>/);
  const link = path.join(it.root, 'link.md');
  fs.symlinkSync(path.join(it.root, 'a.css'), link);
  const before = fs.readFileSync(path.join(it.root, 'a.css'), 'utf8');
  for (const place of [link, it.root]) {
    await expectProblem(it, ['report', '--out', place, '--force'], {
      code: 2,
      says: [/no plain file/],
    });
  }
  expect(fs.readFileSync(path.join(it.root, 'a.css'), 'utf8')).toBe(before);
  fs.symlinkSync(it.home, path.join(it.root, 'away'));
  await expectProblem(it, ['report', '--out', 'away/x.md'], {
    code: 2,
    says: [/out of the workspace/],
  });
  const { store } = await it.json<{ store: string }>(['status']);
  await expectProblem(it, ['report', '--out', `${store}/x.md`], {
    code: 2,
    says: [/in the store/],
  });
  await expectProblem(it, ['report', '--out', 'no/where.md'], { code: 2, says: [/no such/] });
});

async function shop(): Promise<Lab> {
  const it = lab();
  tree(it.root, { 'a.css': 'h1 { red }\n', 'old.txt': 'old\n' });
  await it.turn(
    'printf "h1 { blue }\\nmore { }\\n" > a.css; rm old.txt; echo new > new.txt',
    '--label',
    'Restyle <b>all</b>',
  );
  return it;
}
