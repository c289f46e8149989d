import * as v from 'valibot';
import type { WatchEvent } from '../watch/watcher.js';

const EventsSchema = v.array(
  v.object({
    at: v.number(),
    kind: v.picklist(['create', 'update', 'delete']),
    path: v.string(),
  }),
);

/** Writes a step's events for a file of their own. */
export function encodeEvents(events: readonly WatchEvent[]): string {
  return `[${events.map((event) => JSON.stringify(event)).join(',\n')}]\n`;
}

/** Reads what {@link encodeEvents} wrote; none where it cannot be read, for events decide nothing. */
export function decodeEvents(json: string): readonly WatchEvent[] {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), EventsSchema), json);
  return parsed.success ? parsed.output : [];
}
