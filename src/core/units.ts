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
