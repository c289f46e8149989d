import { type Audit, type AuditFile, type AuditTurn, toText } from '../../index.js';
import { changeJson, foreignJson, timelineJson, turnJson } from '../json.js';

/** A report as one document: each turn as `show` gives it, with diffs and the timeline. */
export function auditJson({ root, madeAt, since, turns }: Audit): object {
  return {
    root: toText(root).text,
    madeAt,
    since: since === '' ? null : since,
    turns: turns.map(auditTurnJson),
  };
}

function auditTurnJson({ report, files, gitFiles, timeline, eventsCut }: AuditTurn): object {
  return {
    ...turnJson({ ...report, files: [] }),
    files: files.map(fileJson),
    gitFiles,
    timeline: { ...timelineJson(timeline), cut: eventsCut },
  };
}

function fileJson({ change, secret, diff }: AuditFile): object {
  const { lines, cut, left, added, removed } = diff;
  const text = lines.map((line) => toText(line).text);
  return {
    ...changeJson(change),
    ...foreignJson(change.foreign),
    secret,
    added,
    removed,
    diff: { lines: text, cut, left },
  };
}
