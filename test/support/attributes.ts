import { spawnSync } from 'node:child_process';

/**
 * Describes the attributes and ACLs of a tree by what `getfattr` and `getfacl` print, a record a path,
 * names as they escape them: by none of our own means.
 */
export function attributesOf(root: string): string[] {
  const dump = print(root, 'getfattr', '-R', '-P', '-h', '-d', '-m', '-', '-e', 'hex', '.');
  const acls = print(root, 'getfacl', '-R', '-P', '-n', '-s', '.');
  return [...dump, ...acls].sort();
}

/** Sets an attribute to bytes. */
export function setAttribute(path: string | Buffer, name: string, value: string | Buffer): void {
  const hex = Buffer.from(value).toString('hex');
  const given = hex === '' ? [] : ['-v', `0x${hex}`];
  through('setfattr', ['-h', '-n', name, ...given], path);
}

/** Removes an attribute. */
export function removeAttribute(path: string | Buffer, name: string): void {
  through('setfattr', ['-h', '-x', name], path);
}

/** Changes an ACL: `setAcl(path, '-m', 'u:1:r')`. */
export function setAcl(path: string, ...args: string[]): void {
  through('setfacl', args, path);
}

/** Node gives arguments as UTF-8; a name may be any bytes. */
function through(program: string, args: readonly string[], path: string | Buffer): void {
  const input = Buffer.concat([Buffer.from(path), Buffer.from([0])]);
  const { status, stderr } = spawnSync('xargs', ['-0', program, ...args], { input });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}

function print(root: string, program: string, ...args: string[]): string[] {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'latin1' });
  if (status !== 0) throw new Error(`${program}: ${stderr}`);
  return stdout.split('\n\n').filter((record) => record.trim() !== '');
}
