import type { LogRecord } from './records.js';

/** Lists the files of their own that a line of the log names: changes, plans, events. */
export function detailsOf(record: LogRecord): string[] {
  switch (record.type) {
    case 'open':
    case 'pruned':
      return [];
    case 'rewind':
      return record.plan.kind === 'detail' ? [record.plan.sha256] : [];
    case 'rewound':
      return record.changes.kind === 'detail' ? [record.changes.sha256] : [];
    case 'close': {
      const { events } = record.timeline;
      const changes = record.changes.kind === 'detail' ? [record.changes.sha256] : [];
      return events === null ? changes : [...changes, events];
    }
  }
}
