import os from 'node:os';
import { join, resolve } from 'node:path';

/** Names the directory under which stores are made unless told otherwise. */
export function storeHome(): string {
  const own = process.env.PREIMAGE_HOME ?? '';
  if (own !== '') return resolve(own);
  const state = process.env.XDG_STATE_HOME ?? '';
  if (state !== '') return join(resolve(state), 'preimage');
  if (process.platform === 'win32') {
    return join(process.env.LOCALAPPDATA ?? join(os.homedir(), 'AppData', 'Local'), 'preimage');
  }
  return join(os.homedir(), '.local', 'state', 'preimage');
}
