import type { Scene } from './commands.js';
import { attributesOfWhich, look } from './world.js';

/** A file that is written into where it stands: for that moment it is neither old nor new. */
const IN_PLACE = 'also-outside';

/** Names what is neither as it was nor as it was to be; what is staged is no file of the workspace yet. */
export function halfDone({ world, before, after }: Scene): string[] {
  const now = look(world);
  const wrong: string[] = [];
  for (const [name, what] of Object.entries(now)) {
    if (name === 'names of one file' || name === IN_PLACE || isStaged(name)) continue;
    // Set by calls of their own, as permission bits are.
    if (attributesOfWhich(name) !== undefined) continue;
    const allowed = [before[name], after[name]].map(bytesOf);
    if (!allowed.includes(bytesOf(what))) wrong.push(`${name} is ${what}`);
  }
  for (const [name, what] of Object.entries(before)) {
    const isFile = what.startsWith('file ') && after[name]?.startsWith('file ') === true;
    if (isFile && now[name] === undefined) wrong.push(`${name} is not there`);
  }
  return wrong;
}

/** Names what was staged and is still there. */
export function leftovers({ world }: Pick<Scene, 'world'>): string[] {
  return Object.keys(look(world)).filter(isStaged);
}

/** Leaves out permission bits and owner, which are set by calls of their own. */
function bytesOf(what: string | undefined): string {
  const [type = 'nothing', ...rest] = what?.split(' ') ?? [];
  if (type === 'file') return rest.slice(2).join(' ');
  return type === 'link' ? `link ${rest[0]}` : type;
}

function isStaged(name: string): boolean {
  return /(^|\/)\.preimage-/.test(name);
}
