import fs from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { storeHome } from '../index.js';

/**
 * Has Node keep what it has compiled of us, where it can (from 22.8 on), beside the stores: a start
 * takes a quarter less. It is code that we run, so nobody else may write there. Without it we are
 * slower, no more.
 */
export function keepCompiledCode(): void {
  if (!('enableCompileCache' in module) || typeof module.enableCompileCache !== 'function') return;
  if (process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  try {
    const directory = join(storeHome(), 'code-cache');
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { uid, mode } = fs.lstatSync(directory);
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o022) !== 0)) return;
    module.enableCompileCache(directory);
  } catch {
    // No home directory, or none that we may write to.
  }
}
