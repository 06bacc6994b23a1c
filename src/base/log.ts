import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { type LevelWithSilent, type Logger, pino } from 'pino';
import { systemClock } from './clock.ts';
import { within } from './pause.ts';
import { visibleLog } from './visible.ts';

/** Bytes of lines that wait to be written, at most. */
const MOST_HELD = 8 * 1024 * 1024;
/** Lines that are written at once. */
const TOGETHER = 256;
/** The pause before lines that could not be written are tried again. */
const RETRY_MS = 10;
/** How long a process may wait for its last lines at its end. */
const LAST_LINES_MS = 1000;
const NOTHING: Buffer = Buffer.alloc(0);

/** The log of this process, and the fate of its lines. */
export interface Log {
  readonly log: Logger;
  /** how many lines were dropped since the start */
  dropped(): number;
  /** Resolves once every line is written, or after a second: to be awaited before the process ends. */
  flush(): Promise<void>;
}

/**
 * The log, as a JSON object a line. Logging never blocks, throws or fills the memory, whatever stdout leads to.
 * @param fd 1 for a server; 2 for a command whose stdout is for data
 * @param render makes another text of a line, in which nothing is left that a terminal would obey
 */
export function openLog(
  { LOG_LEVEL: level }: { readonly LOG_LEVEL: LevelWithSilent },
  fd: 1 | 2 = 1,
  render?: (line: string) => string,
): Log {
  const destination = openDestination(fd, (lines) => log.warn({ lines }, 'log lines were dropped'));
  const log = pino({ level, ...(render ? { hooks: { streamWrite: render } } : visibleLog) }, destination);
  return { log, dropped: () => destination.dropped, flush: () => destination.flush() };
}

/**
 * stdout or stderr for lines that a program must not wait for.
 * @param onResumed called when lines are taken again, with the number of those dropped meanwhile
 */
export function openDestination(fd: 1 | 2, onResumed: (lines: number) => void): LogDestination {
  const destination = new LogDestination(neverBlocking(fd), onResumed);
  process.once('exit', () => destination.writeRest());
  return destination;
}

/**
 * A descriptor whose writes never wait for a reader. Node writes files on threads of its own. A write to a pipe would
 * wait there too, and a reader that hangs would keep the process from ending.
 */
function neverBlocking(fd: 1 | 2): number {
  if (fstatSync(fd).isFile()) return fd;
  try {
    // Opened again, it has flags of its own: those of `fd` are shared with the shell and with every other program there.
    return openSync(
      `/proc/self/fd/${fd}`,
      constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    // A socket, as under systemd; another user's pipe; not Linux. Asked for, the stream makes it non-blocking.
    return fd === 1 ? process.stdout.fd : process.stderr.fd;
  }
}

/**
 * Writes lines to a descriptor, in their order and each whole or not at all. A line that cannot be written now (ENOSPC
 * on a full disk, EAGAIN if the reader hangs, EPIPE if it is gone) waits and is tried again. Beyond MOST_HELD new lines
 * are dropped and counted, until half of the waiting lines are out. So the line with the count stands in the gap.
 *
 * Not `pino.destination`: on a full disk or a closed pipe its exit handler tries for ever (sonic-boom 4.2.1, `flushSync`), and the
 * process never ends.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #onResumed: (lines: number) => void;
  readonly #waiting: string[] = [];
  /** what a write has left over */
  #rest = NOTHING;
  /** bytes that are not written yet */
  #held = 0;
  /** a write is under way, or will be tried again */
  #isBusy = false;
  #dropped = 0;
  /** of these, those that no line has told of yet; 0 while lines are taken */
  #untold = 0;
  #isEnding = false;
  #hasGivenUp = false;
  #onIdle = () => {};

  constructor(fd: number, onResumed: (lines: number) => void) {
    this.#fd = fd;
    this.#onResumed = onResumed;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a line, its line break included. Pino calls this. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#untold > 0 || this.#held + bytes > MOST_HELD) {
      this.#dropped++;
      this.#untold++;
      this.#resume(); // at once, where that line alone is too large
      return;
    }
    this.#held += bytes;
    this.#waiting.push(line);
    if (this.#isEnding) this.writeRest();
    else if (!this.#isBusy) this.#writeOn();
  }

  /** Resolves once no line waits any more, or after a second; lines that still wait are given up. */
  async flush(): Promise<void> {
    if (this.#held === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    await within(systemClock, LAST_LINES_MS, promise);
    this.#hasGivenUp = this.#held > 0;
  }

  /**
   * Writes the waiting lines as the process ends, when nothing asynchronous happens any more; for a second at most. Lines
   * that come later still are written the same way. A write under way is ended by its thread.
   */
  writeRest(): void {
    this.#isEnding = true;
    const giveUpAt = performance.now() + LAST_LINES_MS;
    let rest = Buffer.concat([this.#rest, Buffer.from(this.#waiting.splice(0).join(''))]);
    this.#rest = NOTHING;
    this.#held = 0;
    while (rest.length > 0 && !this.#hasGivenUp) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        this.#hasGivenUp = (error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > giveUpAt;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
    this.#resume();
  }

  #writeOn(): void {
    const chunk =
      this.#rest.length > 0 ? this.#rest : Buffer.from(this.#waiting.splice(0, TOGETHER).join(''));
    this.#rest = NOTHING;
    this.#isBusy = chunk.length > 0;
    if (!this.#isBusy) {
      this.#onIdle();
      return;
    }
    write(this.#fd, chunk, (error, written) => {
      this.#rest = error ? chunk : chunk.subarray(written);
      if (error) {
        systemClock.after(RETRY_MS, () => this.#writeOn());
        return;
      }
      this.#held -= written;
      this.#resume();
      this.#writeOn();
    });
  }

  #resume(): void {
    if (this.#untold === 0 || this.#held > MOST_HELD / 2) return;
    const lines = this.#untold;
    this.#untold = 0;
    this.#onResumed(lines);
  }
}
