import { type ByteString, type GitHead, type GitMove, type GitReport, toText } from '../index.js';

/** What a turn moved in one repository, without the repository's path. */
export function gitJson({ state, paths, moves, log }: GitReport): object {
  return {
    state,
    paths,
    moves: moves.map(moveJson),
    log: log.map((message) => toText(message).text),
  };
}

function moveJson(move: GitMove): object {
  switch (move.kind) {
    case 'head':
      return { ...move, from: headJson(move.from), to: headJson(move.to) };
    case 'branch':
    case 'tag':
    case 'remote':
    case 'ref': {
      const { kind, name, change, from, to } = move;
      return { kind, ...nameJson(name), change, from: idJson(from), to: idJson(to) };
    }
    case 'stash':
      return { ...move, message: toText(move.message).text };
    case 'index':
      return { ...move, paths: move.paths === 'unknown' ? null : move.paths };
    case 'hook':
      return { ...move, ...nameJson(move.name) };
    case 'operation':
    case 'config':
    case 'unread-refs':
      return move;
  }
}

/** A name; where it is not UTF-8 its bytes stand beside the lossy text. */
function nameJson(bytes: ByteString): { name: string; nameBytes?: string } {
  const { text, lossy } = toText(bytes);
  if (!lossy) return { name: text };
  return { name: text, nameBytes: Buffer.from(bytes, 'latin1').toString('base64') };
}

function headJson(head: GitHead): object | null {
  switch (head.kind) {
    case 'none':
    case 'unknown':
      return null;
    case 'branch':
      return { branch: toText(head.branch).text, commit: idJson(head.commit) };
    case 'detached':
      return { branch: null, commit: idJson(head.commit) };
  }
}

/** `null` where there is no object, or where it is not known which. */
function idJson(id: string): string | null {
  return id === 'none' || id === 'unknown' ? null : id;
}
