import { expect, test } from 'vitest';
import type { Lab } from '../support/cli.js';
import { lab } from '../support/cli.js';
import { git, repositoryOnce } from './repository.js';
import { calm } from './round.js';

const repositoryAtWork = repositoryOnce();

type Move = { readonly kind: string; readonly change?: string; readonly [key: string]: unknown };
type Repository = {
  readonly path: string;
  readonly state: string;
  readonly paths: number;
  readonly moves: readonly Move[];
  readonly log: readonly string[];
};

/** Runs a script as one turn and gives what `show` says of repositories, in words and as JSON. */
async function told(at: Lab, script: string): Promise<{ lines: string[]; git: Repository[] }> {
  const env = calm(at);
  const watched = await at.run(['watch', '--json', '--no-watch', '--', 'sh', '-ec', script], {
    env,
  });
  expect(watched.code, watched.stderr).toBe(0);
  const { turn, git: repositories } = JSON.parse(watched.stderr);
  const { stdout } = await at.run(['show', turn]);
  return { lines: stdout.split('\n').map((line) => line.trim()), git: repositories };
}

/** What each turn moves, as `show` names it: `*` is the short name of an object. */
const MOVES: Record<string, { script: string; says: readonly string[]; not?: RegExp }> = {
  'a commit': {
    script: 'git commit -qm two',
    says: ['HEAD moved on main  * → *  (commit: two)'],
    not: /^branch|stash|index/m,
  },
  'commit --amend': {
    script: 'git commit -q --amend -am better',
    says: ['HEAD moved on main  * → *  (commit (amend): better)', 'index changed  2 paths'],
  },
  'reset --hard over staged and unstaged work': {
    script: 'git reset -q --hard',
    says: ['reset to HEAD  *  (reset: moving to HEAD)', 'index changed  2 paths'],
    not: /HEAD moved|branch/,
  },
  'reset --hard to another commit': {
    script: 'git reset -q --hard other',
    says: ['HEAD moved on main  * → *  (reset: moving to other)'],
    not: /^branch/m,
  },
  'checkout -- .': { script: 'git checkout -q -- .', says: [], not: /HEAD|branch|index|stash/ },
  'checkout of another branch': {
    script: 'git checkout -qf other',
    says: ['HEAD switched from main to other  * → *  (checkout: moving from main to other)'],
    not: /^branch/m,
  },
  'a detached HEAD': {
    script: 'git checkout -q --detach',
    says: ['HEAD detached from main  *  (checkout: moving from main to HEAD)'],
  },
  'branches and tags': {
    script: 'git branch new; git branch -D other; git tag v1; git tag -am two v2 HEAD',
    says: [
      'branch new created  *',
      'branch other deleted  *',
      'tag v1 created  *',
      'tag v2 created  *',
    ],
    not: /HEAD|index/,
  },
  'a branch that is packed and moved': {
    script: 'git pack-refs --all; git branch -f other main',
    says: ['branch other moved  * → *'],
    not: /main/,
  },
  'refs that are only packed': {
    script: 'git pack-refs --all',
    says: [],
    not: /branch|created|deleted by/,
  },
  'a stash': {
    script: 'git stash push -q -m mine',
    says: ['stash pushed  *  (On main: mine)', 'index changed  2 paths'],
    not: /reset|ref /,
  },
  'the wrong stash dropped': {
    script: 'git stash drop -q',
    says: ['stash dropped  *  (On main: older work)'],
    not: /index|popped/,
  },
  'a stash popped': {
    script: 'git stash pop -q',
    says: ['stash popped or dropped  *  (On main: older work)'],
  },
  'a rebase that stopped half way': {
    script:
      'git commit -qam all; echo mine > README.md; git commit -qam mine; git rebase -q other 2>&1 || :',
    says: ['HEAD detached from main  * → *  (rebase (pick): all)', 'rebase begun'],
    not: /cherry-pick/,
  },
  'a merge with conflicts': {
    script:
      'git commit -qam all; echo mine > README.md; git commit -qam mine; git merge -q other || :',
    says: ['merge begun'],
  },
  'settings and hooks': {
    script: "git config user.name x; echo 'echo ran' > .git/hooks/pre-commit; git gc -q",
    says: ['config changed', 'hook pre-commit created'],
  },
  'removal of .git': {
    script: 'rm -rf .git',
    says: [
      'git .git  deleted',
      'HEAD was on main  *',
      'branch other deleted  *',
      'stash dropped  *  (On main: older work)',
    ],
  },
  'gc --prune=now': { script: 'git gc -q --prune=now', says: [], not: /branch|stash|HEAD|index/ },
};

test.each(Object.entries(MOVES))('show names %s', async (_, { script, says, not }) => {
  const at = repositoryAtWork();
  const { lines } = await told(at, script);
  const plain = lines.map((line) => line.replaceAll(/\b[0-9a-f]{7}\b/g, '*'));
  for (const line of says) expect(plain).toContain(line);
  if (not !== undefined) {
    const about = plain.filter((line) => !/^([AMDTP?] |turn |step |\d+ )/.test(line)).join('\n');
    expect(about).not.toMatch(not);
  }
});

test('the JSON says exactly what git says, before and after', async () => {
  const at = repositoryAtWork();
  const ids = async (...names: string[]): Promise<string[]> =>
    Promise.all(names.map(async (name) => (await git(at, 'rev-parse', name)).trim()));
  const [main, other, stash] = await ids('main', 'other', 'stash@{0}');
  const script =
    'git stash push -q -m new; git checkout -qf other; git branch -f main; git tag v1 other';
  const { git: repositories } = await told(at, script);
  const [pushed] = await ids('stash@{0}');
  expect(repositories).toMatchObject([
    {
      path: '.git',
      state: 'kept',
      moves: [
        {
          kind: 'head',
          change: 'switched',
          from: { branch: 'main', commit: main },
          to: { branch: 'other', commit: other },
        },
        { kind: 'branch', name: 'main', change: 'moved', from: main, to: other },
        { kind: 'tag', name: 'v1', change: 'created', from: null, to: other },
        { kind: 'stash', change: 'pushed', commit: pushed, message: 'On main: new' },
        { kind: 'index', change: 'changed', paths: expect.any(Number) },
      ],
      log: ['reset: moving to HEAD', 'checkout: moving from main to other'],
    },
  ]);
  expect(pushed).not.toBe(stash);
});

test('a turn that only looks moves nothing, whatever git writes into its index', async () => {
  const at = repositoryAtWork();
  const { git: repositories } = await told(at, 'touch README.md; GIT_OPTIONAL_LOCKS=1 git status');
  expect(repositories).toMatchObject([{ path: '.git', paths: 1, moves: [] }]);
});

test('turns in one: what came and went between its steps is not told', async () => {
  const at = repositoryAtWork();
  const env = calm(at);
  for (const script of ['git checkout -qb topic', 'git checkout -q main; git branch -d topic']) {
    await at.run(['watch', '--no-watch', '--turn', 'x', '--', 'sh', '-ec', script], { env });
  }
  const { git: repositories } = await at.json<{ git: Repository[] }>(['show', 'x']);
  expect(repositories.flatMap(({ moves }) => moves)).toEqual([]);
});

test('submodules and linked work trees are told by themselves; their .git is a file like any other', async () => {
  const at = lab();
  const { git: made, lines } = await told(
    at,
    'git init -q -b main lib; (cd lib; echo 1 > f; git add f; git commit -qm one); ' +
      'git init -q -b main; git -c protocol.file.allow=always submodule --quiet add ./lib a/sub; ' +
      'git commit -qm all; git worktree add -q wt -b linked',
  );
  expect(made.map(({ path, state }) => [path, state])).toEqual([
    ['.git', 'created'],
    ['.git/modules/a/sub', 'created'],
    ['.git/worktrees/wt', 'created'],
    ['lib/.git', 'created'],
  ]);
  expect(lines.filter((line) => / (a\/sub|wt)\/\.git\b/.test(line))).toHaveLength(2);
  const script =
    'cd a/sub; echo 2 > f; git commit -qam two; cd ../../wt; echo 3 > x; git add x; git commit -qm three';
  const { git: moved } = await told(at, script);
  const heads = moved.map(({ path, moves }) => [path, moves[0]?.kind, moves[0]?.to]);
  const id = async (...args: string[]) => (await git(at, ...args, 'rev-parse', 'HEAD')).trim();
  expect(heads).toEqual([
    ['.git', 'branch', await id('-C', 'wt')],
    ['.git/modules/a/sub', 'head', { branch: 'main', commit: await id('-C', 'a/sub') }],
    ['.git/worktrees/wt', 'head', { branch: 'linked', commit: await id('-C', 'wt') }],
  ]);
});

test('many paths of .git are one line unless all are asked for; few, and all in JSON, are listed', async () => {
  const at = repositoryAtWork();
  await told(at, 'git gc -q; rm notes.md; mkfifo .git/pipe; ln -s /dev/null .git/link');
  const { files } = await at.json<{ files: { path: string }[] }>(['show', 't1']);
  const inGit = files.filter(({ path }) => path.startsWith('.git/'));
  expect(inGit.length).toBeGreaterThan(10);
  const short = (await at.run(['show', 't1'])).stdout;
  expect(short).toContain(`  .git: ${inGit.length} paths; --all lists them\n`);
  expect(short).not.toMatch(/^[AMD] \.git/m);
  expect(short).toMatch(/^D notes\.md/m);
  const all = (await at.run(['show', 't1', '--all'])).stdout;
  expect(all.match(/^[AMDTP] \.git\//gm)).toHaveLength(inGit.length);
  expect(all).not.toMatch(/--all/);
  await told(at, 'git tag v1');
  expect((await at.run(['show', 't2'])).stdout).toMatch(
    /tag v1 created.*\n(.*\n)*A \.git\/refs\/tags\/v1/,
  );
});

test('names that are not UTF-8 or full of escapes are told safely, with their bytes in JSON', async () => {
  const at = repositoryAtWork();
  // Git takes such a name for a branch; the terminal must not.
  const { git: repositories, lines } = await told(
    at,
    'git update-ref "refs/heads/$(printf \'\\377\\302\\233m\')" HEAD; git tag é',
  );
  expect(repositories[0]?.moves).toMatchObject([
    {
      kind: 'branch',
      nameBytes: Buffer.from('ff c2 9b 6d'.replaceAll(' ', ''), 'hex').toString('base64'),
    },
    { kind: 'tag', name: 'é' },
  ]);
  expect(lines.filter((line) => line.startsWith('branch'))).toEqual([
    expect.stringMatching(/^branch "\\xff\\xc2\\x9bm" created/),
  ]);
});

test('a repository full of nonsense is listed, and breaks nothing', async () => {
  const at = repositoryAtWork();
  const script =
    "printf 'ref: refs/../../../etc/passwd' > .git/HEAD; printf '\\377\\0' > .git/packed-refs; " +
    'printf DIRC > .git/index; mkdir -p .git/refs/heads/main.lock .git/modules/x; ' +
    "printf 'ref: refs/heads/a' > .git/refs/heads/a; echo x > .git/logs/refs/stash; echo x > .git/logs/HEAD";
  const { git: repositories } = await told(at, script);
  expect(repositories).toMatchObject([{ path: '.git', state: 'kept' }]);
  expect((await at.run(['show', 't1'])).code).toBe(0);
  expect((await at.run(['rewind', '--git'])).code).toBe(0);
});
