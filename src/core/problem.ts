/** What kind of trouble ended a whole run; the CLI gives each its exit code. */
export type ProblemCode =
  | 'usage'
  | 'no-such-turn'
  | 'nothing-to-do'
  | 'damaged'
  | 'newer-store'
  | 'busy'
  | 'cannot-store'
  | 'cannot-read'
  | 'refused-root'
  | 'internal';

/** The one error that ends a run: what happened and where, and as a hint what to do next. */
export class PreimageError extends Error {
  readonly code: ProblemCode;
  readonly hint: string;

  constructor(
    code: ProblemCode,
    message: string,
    options: { hint?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'PreimageError';
    this.code = code;
    this.hint = options.hint ?? '';
  }
}

/** Reports whether an error is the system's error of one of these codes (`ENOENT`, …). */
export function isErrno(error: unknown, ...codes: string[]): boolean {
  return codes.includes(errnoOf(error));
}

/** What the whole process or disk lacks: no fault of the path at which it is met. */
const SHORTAGES = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'];

/** Reports whether an error says that the system has run out of something. */
export function isShortage(error: unknown): boolean {
  return isErrno(error, ...SHORTAGES);
}

/** Gives the system's code of an error, `''` where it has none. */
export function errnoOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** Says in a few words what the system meant, without the paths that Node puts into its messages. */
export function errnoWords(error: unknown): string {
  const code = errnoOf(error);
  return ERRNO_WORDS[code] ?? (code === '' ? String(error) : code);
}

const ERRNO_WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'not a directory',
  EISDIR: 'is a directory',
  ENOMEM: 'not enough memory',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'disk quota exceeded',
  EROFS: 'the file system is read-only',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files in the system',
  EIO: 'input/output error',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
  ENOTEMPTY: 'the directory is not empty',
  EEXIST: 'it exists already',
  EBUSY: 'it is in use',
  ETXTBSY: 'it is a program that is running',
  EXDEV: 'it is on another file system',
};
