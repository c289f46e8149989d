/** Parses a size such as `8MiB`, `5GB`, `1000`; powers of 1024, `k`, `m`, `g` in any case. */
export function parseSize(text: string): number | 'invalid' {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(text);
  if (match === null) return 'invalid';
  const power = ' kmgt'.indexOf((match[2] ?? '').toLowerCase() || ' ');
  const bytes = Math.floor(Number(match[1]) * 1024 ** power);
  return Number.isSafeInteger(bytes) ? bytes : 'invalid';
}

/** Writes a number of bytes for a person: `812 B`, `5.1 KB`, `912 MB`; 1 KB is 1,024 bytes. */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 10 || Number.isInteger(value) ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? 'B'}`;
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** Parses a duration such as `30d`, `12h`, `2w`, `90m`, `45s`, `500ms` to milliseconds; `0` is none. */
export function parseDuration(text: string): number | 'invalid' {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|[smhdw]?)\s*$/i.exec(text);
  if (match === null) return 'invalid';
  const unit = (match[2] ?? '').toLowerCase();
  const value = Number(match[1]);
  // A bare number could be days or seconds: nobody may lose turns over a guess.
  if (unit === '') return value === 0 ? 0 : 'invalid';
  const ms = Math.floor(value * (UNIT_MS[unit] ?? 0));
  // What is less than can be told is not none.
  if (ms === 0 && value > 0) return 'invalid';
  return Number.isSafeInteger(ms) ? ms : 'invalid';
}

/** Writes a duration in the largest unit of {@link parseDuration} that it is a whole number of. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm']) {
    const size = UNIT_MS[unit] ?? 0;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return ms > 0 && ms < 1000 ? `${ms}ms` : `${ms / 1000}s`;
}

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
