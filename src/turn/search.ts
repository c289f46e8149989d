import type { Change } from '../core/change.js';
import { newestFirst, type Turn } from '../core/history.js';
import { toText } from '../core/relpath.js';
import { summarize, type TurnSummary, turnChanges } from './report.js';
import type { Workspace } from './workspace.js';

/** What of a turn has the text in it. */
export type SearchMatch =
  | { readonly kind: 'label'; readonly step: number; readonly text: string }
  | { readonly kind: 'command'; readonly step: number; readonly text: string }
  | { readonly kind: 'path'; readonly change: Change };

/** A turn that was found, with all that matched. */
export type SearchHit = {
  readonly turn: TurnSummary;
  readonly matches: readonly SearchMatch[];
};

/**
 * Looks for a text in the labels, the commands and the changed paths of all turns, newest first;
 * capital and small letters are the same.
 */
export function searchTurns(workspace: Workspace, text: string): SearchHit[] {
  const wanted = text.toLowerCase();
  const { history } = workspace.readLog();
  return newestFirst(history).flatMap((turn) => {
    const changes = turnChanges(workspace, turn);
    const matches = [
      ...inWords(turn, wanted),
      ...changes.flatMap((change): SearchMatch[] => {
        const { text: path } = toText(change.path);
        return path.toLowerCase().includes(wanted) ? [{ kind: 'path', change }] : [];
      }),
    ];
    return matches.length === 0 ? [] : [{ turn: summarize(history, turn, changes), matches }];
  });
}

function inWords({ steps }: Turn, wanted: string): SearchMatch[] {
  const seen = new Set<string>();
  return steps.flatMap(({ id, open }) => {
    const found: SearchMatch[] = [
      { kind: 'label', step: id, text: open.label },
      { kind: 'command', step: id, text: open.command.join(' ') },
    ];
    return found.filter((match) => {
      if (match.kind === 'path' || !match.text.toLowerCase().includes(wanted)) return false;
      // The same label at every step is one match.
      const key = `${match.kind} ${match.text}`;
      if (match.text === '' || seen.has(key)) return false;
      seen.add(key);
      return true;
    });
  });
}
