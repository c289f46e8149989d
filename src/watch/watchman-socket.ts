import { Buffer } from 'node:buffer';
import { execFile } from 'node:child_process';
import net from 'node:net';
import * as v from 'valibot';
import { errnoWords, isErrno } from '../core/problem.js';
import { type BserValue, decodeBser, encodeBser, lengthOfBser } from './bser.js';

/** Why watchman could not be asked, in words that follow `watchman`. */
export class WatchmanTrouble extends Error {}

/**
 * Asks watchman one thing after another through its socket.
 *
 * Its own encoding (BSER) and not JSON: an answer in JSON with a name that is no UTF-8 never arrives
 * (4.9 ends the connection, or keeps it and says nothing). Not through `fb-watchman`: that gives such
 * names with other characters in their places, writes on stderr by itself, and leaves a command without
 * an answer where the connection breaks.
 */
export class WatchmanSocket {
  readonly #socket: net.Socket;
  readonly #deadline: number;

  private constructor(socket: net.Socket, deadline: number) {
    this.#socket = socket;
    this.#deadline = deadline;
  }

  /** Connects; all that is asked must be done before `deadline` (ms since the epoch). */
  static async connect(deadline: number): Promise<WatchmanSocket> {
    const path = await findSocket(deadline);
    const socket = net.connect(path);
    try {
      await within(deadline, (done, fail) => {
        socket.once('connect', () => done(null));
        socket.once('error', (error) => fail(`cannot be reached: ${errnoWords(error)}`));
      });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    // What breaks between two questions is seen at the second.
    socket.on('error', () => {});
    return new WatchmanSocket(socket, deadline);
  }

  /** Asks one thing; throws {@link WatchmanTrouble}, also with what watchman itself calls an error. */
  async ask(command: BserValue): Promise<BserValue> {
    const socket = this.#socket;
    const answered = new Answer();
    const take = (chunk: Buffer, done: (answer: BserValue) => void, fail: Fail): void => {
      try {
        const answer = answered.take(chunk);
        if (answer !== 'partial') done(answer);
      } catch (error) {
        fail(`said what cannot be read: ${error instanceof Error ? error.message : error}`);
      }
    };
    let off = (): void => {};
    try {
      const answer = await within<BserValue>(this.#deadline, (done, fail) => {
        const onData = (chunk: Buffer): void => take(chunk, done, fail);
        const onClose = (): void => fail('ended the connection');
        off = () => {
          socket.off('data', onData);
          socket.off('close', onClose);
        };
        socket.on('data', onData);
        socket.on('close', onClose);
        if (socket.destroyed) onClose();
        else socket.write(encodeBser(command));
      });
      const refusal = v.safeParse(v.object({ error: v.string() }), answer);
      if (refusal.success) throw new WatchmanTrouble(`said: ${refusal.output.error}`);
      return answer;
    } finally {
      off();
    }
  }

  end(): void {
    this.#socket.destroy();
  }
}

/** An answer as it comes in, in parts. */
class Answer {
  readonly #parts: Buffer[] = [];
  #length = 0;
  #whole: number | 'partial' = 'partial';

  take(part: Buffer): BserValue | 'partial' {
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#whole === 'partial') this.#whole = lengthOfBser(Buffer.concat(this.#parts));
    if (this.#whole === 'partial' || this.#length < this.#whole) return 'partial';
    return decodeBser(Buffer.concat(this.#parts));
  }
}

/** A trigger of watchman's names its socket; else its program knows it, and starts it if need be. */
function findSocket(deadline: number): Promise<string> {
  const named = process.env.WATCHMAN_SOCK ?? '';
  if (named !== '') return Promise.resolve(named);
  return within(deadline, (done, fail) => {
    const args = ['--no-pretty', 'get-sockname'];
    execFile('watchman', args, { timeout: left(deadline) }, (error, stdout) => {
      if (isErrno(error, 'ENOENT')) return fail('is not installed');
      if (error !== null) return fail('could not be started');
      const said = v.safeParse(v.pipe(v.string(), v.parseJson(), SockName), stdout);
      if (said.success) done(said.output.sockname);
      else fail('did not name its socket');
    });
  });
}

const SockName = v.object({ sockname: v.string() });

type Fail = (words: string) => void;

/** Waits for an answer that comes by a callback, but not beyond the deadline. */
async function within<T>(
  deadline: number,
  start: (done: (value: T) => void, fail: Fail) => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      const fail: Fail = (words) => reject(new WatchmanTrouble(words));
      timer = setTimeout(() => fail('gave no answer in time'), left(deadline));
      start(resolve, fail);
    });
  } finally {
    clearTimeout(timer);
  }
}

function left(deadline: number): number {
  return Math.max(1, deadline - Date.now());
}
