import { formatSize, type HookOptions } from '../index.js';
import { Pace, timeLeft } from './pace.js';

/** How far a scan is, as the library tells it. */
export type ScanProgress = Parameters<NonNullable<HookOptions['onProgress']>>[0];

/** What opening and closing a file takes is said in bytes, so that many small files are work as well. */
const FILE_COST_BYTES = 16 * 1024;
/** A scan that copies hardly anything has no rate worth telling. */
const LEAST_RATE = 64 * 1024;

/** Says how far one scan is: how much of what, how fast, and how long it will take, as far as is known. */
export class ScanLine {
  readonly #looked = new Pace();
  readonly #read = new Pace();
  readonly #work = new Pace();
  /** What there was to copy when that began. */
  #toCopy: { readonly files: number; readonly bytes: number } | undefined;

  text(progress: ScanProgress, at: number): string {
    this.#looked.note(progress.entries, at);
    this.#read.note(progress.copied, at);
    const parts =
      progress.rest === 'unknown' ? this.#walking(progress) : this.#copying(progress, at);
    const rate = this.#read.perSecond();
    const [what, left] = parts;
    const speed = rate < LEAST_RATE ? [] : [`${formatSize(rate)}/s`];
    return [what, ...speed, ...(left === 'unknown' ? [] : [timeLeft(left)])].join(', ');
  }

  #walking({ entries, bytes, expected }: ScanProgress): Parts {
    const looked = `${formatSize(bytes)} looked at`;
    // A tree that has grown is no longer what the last scan met.
    if (expected === 'unknown' || entries >= expected)
      return [`${count(entries)} entries, ${looked}`, 'unknown'];
    const of = `${count(entries)} of ${count(expected)} entries`;
    return [`${of}, ${looked}`, this.#looked.msFor(expected - entries)];
  }

  #copying({ rest }: ScanProgress, at: number): Parts {
    if (rest === 'unknown') return ['', 'unknown'];
    this.#toCopy ??= rest;
    const all = this.#toCopy;
    const [files, bytes] = [all.files - rest.files, all.bytes - rest.bytes];
    this.#work.note(files * FILE_COST_BYTES + bytes, at);
    const done = `${count(files)} of ${count(all.files)} files copied`;
    const ms = this.#work.msFor(rest.files * FILE_COST_BYTES + rest.bytes);
    return [
      `${done}, ${formatSize(bytes)} of ${formatSize(all.bytes)}`,
      // It ends with the time, whatever is left.
      ms === 'unknown' ? ms : Math.min(ms, rest.ms),
    ];
  }
}

type Parts = readonly [what: string, msLeft: number | 'unknown'];

function count(number: number): string {
  return number.toLocaleString('en');
}
