import type { ContentSink } from '../core/content-sink.js';
import type { FileImage } from '../core/image.js';
import type { RelPath } from '../core/relpath.js';
import { lookAt } from '../files/look.js';
import type { Tree } from '../files/tree.js';

/** Reads the file that stands at a path; `unknown` where it is not the one that was looked at. */
export function standingBytes(tree: Tree, path: RelPath, seen: FileImage): Buffer | 'unknown' {
  const pieces: Buffer[] = [];
  const { image } = lookAt(tree, path, sinkInto(pieces));
  if (image.kind !== 'content' || image.type !== 'file') return 'unknown';
  return image.sha256 === seen.sha256 ? Buffer.concat(pieces) : 'unknown';
}

/** Keeps the last content that it is given. */
function sinkInto(pieces: Buffer[]): ContentSink {
  return {
    has: () => false,
    put: (_, bytes) => {
      pieces.splice(0, pieces.length, Buffer.from(bytes));
    },
    stream: () => {
      const own: Buffer[] = [];
      return {
        write: (bytes) => {
          own.push(Buffer.from(bytes));
        },
        commit: () => {
          pieces.splice(0, pieces.length, ...own);
        },
        abort: () => {},
      };
    },
  };
}
