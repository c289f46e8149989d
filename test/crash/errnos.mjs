/** Which calls a system refuses with which error. */
/** @type {Record<string, RegExp>} */
const REFUSED = {
  ENOSPC: /^(open|write|writeFile|copyFile|mkdir|link|symlink|rename|fsync|fdatasync)Sync$/,
  EIO: /Sync$/,
  EACCES: /^(open|writeFile|mkdir|link|symlink|rename|unlink|rm|rmdir|chmod|readdir)Sync$/,
  EMFILE: /^(open|writeFile|copyFile|readdir|spawn)(Sync)?$/,
};

/** The errors that are injected. */
export const ERRNOS = Object.keys(REFUSED);

/**
 * Reports whether a call may end with an error; what only reads is refused for want of descriptors.
 *
 * @param {{ readonly name: string, readonly reads?: boolean }} call
 * @param {string} errno
 */
export function mayEndWith({ name, reads }, errno) {
  return (REFUSED[errno]?.test(name) ?? false) && (reads !== true || errno === 'EMFILE');
}
