import crypto from 'node:crypto';

/** Makes the hashes of a log's lines fit them: what somebody would do who forges a history. */
export function rechained(text: string): string {
  let head = '0'.repeat(64);
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const rest = `${head} ${line.slice(130)}`;
      head = crypto.createHash('sha256').update(rest).digest('hex');
      return `${head} ${rest}\n`;
    });
  return lines.join('');
}
