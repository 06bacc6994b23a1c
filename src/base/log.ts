import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { type LevelWithSilent, type Logger, pino } from 'pino';
import { type MonotonicClock, pause, systemClock } from './clock.ts';
import { visible } from './text.ts';

/** Characters of lines that wait for the write before them; a longer line is taken where none waits. */
const MOST_HELD = 8 * 1024 * 1024;
/** The pause before lines that could not be written are tried again. */
const RETRY_MS = 10;
/** How long a process may wait for its last lines at its end. */
const LAST_LINES_MS = 1000;
const STDOUT = 1;
const NOTHING: Buffer = Buffer.alloc(0);

/** The lines of every log, for pino: levels are names, and strangers' texts within hold nothing that a terminal would obey. */
export const logFormat = {
  formatters: { level: (level: string) => ({ level }) },
  hooks: { streamWrite: visible },
};

/** The log of this process, and the fate of its lines. */
export type Log = ReturnType<typeof openLog>;

/**
 * The log on stdout, as a JSON object a line. Logging never blocks, throws or fills the memory, whatever stdout leads to.
 * @param render makes another text of a line, in which nothing is left that a terminal would obey
 */
export function openLog({ LOG_LEVEL: level }: { readonly LOG_LEVEL: LevelWithSilent }, render = visible) {
  const onResumed = (lines: number) => log.warn({ lines }, 'log lines were dropped');
  const destination = new LogDestination(neverBlocking(), onResumed);
  process.once('exit', () => destination.writeRest());
  const log: Logger = pino({ level, ...logFormat, hooks: { streamWrite: render } }, destination);
  return {
    log,
    /** How many lines were dropped since the start. */
    dropped: () => destination.dropped,
    /** Resolves once every line is written, or after a second: to be awaited before the process ends. */
    flush: () => destination.flush(),
  };
}

/**
 * A descriptor of stdout whose writes never wait for a reader. Node writes files on threads of its own. A write to a pipe would
 * wait there too, and a reader that hangs would keep the process from ending.
 */
function neverBlocking(): number {
  if (fstatSync(STDOUT).isFile()) return STDOUT;
  try {
    // Opened again, it has flags of its own: those of stdout are shared with the shell and with every other program there.
    const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK | constants.O_NOCTTY;
    return openSync(`/proc/self/fd/${STDOUT}`, flags);
  } catch {
    // A socket, as under systemd; another user's pipe; not Linux. Asked for, the stream makes it non-blocking.
    return process.stdout.fd;
  }
}

/**
 * Writes lines to a descriptor, in their order and each whole or not at all. A chunk of lines that cannot be written now (ENOSPC on a full
 * disk, EAGAIN if the reader hangs, EPIPE if it is gone) is tried again. Beyond MOST_HELD new lines are dropped and counted, until the
 * lines that wait become the next chunk. So the line with the count stands in the gap.
 *
 * Not `pino.destination`: on a full disk or a closed pipe its exit handler tries for ever (sonic-boom 4.2.1, `flushSync`), and the
 * process never ends.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #onResumed: (lines: number) => void;
  /** the lines that wait */
  #waiting = '';
  /** of a chunk, what is not written yet; empty while it is being written */
  #rest = NOTHING;
  /** a write is under way, or will be tried again */
  #isBusy = false;
  /** how many lines were dropped */
  dropped = 0;
  /** of these, those that no line has told of yet; 0 while lines are taken */
  #untold = 0;
  #isEnding = false;
  /** once the process is to end: how long it may wait */
  #giveUpAt: number | undefined;

  constructor(fd: number, onResumed: (lines: number) => void) {
    this.#fd = fd;
    this.#onResumed = onResumed;
  }

  /** Takes a line, its line break included. Pino calls this. */
  write(line: string): void {
    if (this.#waiting.length > MOST_HELD) {
      this.dropped++;
      this.#untold++;
      return;
    }
    this.#waiting += line;
    if (this.#isEnding) this.writeRest();
    else if (!this.#isBusy) this.#writeOn();
  }

  /** Resolves once no line waits any more, or after a second. */
  async flush(): Promise<void> {
    this.#giveUpAt ??= systemClock.monotonic() + LAST_LINES_MS;
    while (this.#isBusy && systemClock.monotonic() < this.#giveUpAt) await pause(systemClock, RETRY_MS);
  }

  /**
   * Writes the waiting lines as the process ends, when nothing asynchronous happens any more; for a second at most. Lines
   * that come later still are written the same way. A write under way is ended by its thread.
   */
  writeRest(): void {
    this.#isEnding = true;
    this.#giveUpAt ??= systemClock.monotonic() + LAST_LINES_MS;
    let rest = this.#rest;
    this.#rest = NOTHING;
    rest = Buffer.concat([rest, this.#next()]);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        const mayPass = (error as NodeJS.ErrnoException).code === 'EAGAIN';
        if (!mayPass || systemClock.monotonic() > this.#giveUpAt) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
      }
    }
  }

  #writeOn(): void {
    const chunk = this.#rest.length > 0 ? this.#rest : this.#next();
    this.#rest = NOTHING;
    this.#isBusy = chunk.length > 0;
    if (!this.#isBusy) return;
    write(this.#fd, chunk, (error, written) => {
      this.#rest = chunk.subarray(error ? 0 : written);
      if (error) systemClock.after(RETRY_MS, () => this.#writeOn());
      else this.#writeOn();
    });
  }

  /** All lines that wait, as a chunk. */
  #next(): Buffer {
    const chunk = Buffer.from(this.#waiting);
    this.#waiting = '';
    const lines = this.#untold;
    this.#untold = 0;
    if (lines > 0) this.#onResumed(lines);
    return chunk;
  }
}

/** How many lines of a level are written in a stretch: a flood from many sources must not fill the disk. */
const MOST_LINES = 50;

/**
 * Gives a function that writes a line about what happens again and again: one a level, key and stretch of time, and not too many in all. The
 * next line says how many were left out.
 */
export function boundedLog(log: Pick<Logger, 'warn' | 'error'>, clock: MonotonicClock, stretchMs: number) {
  const count = counterBy(clock, stretchMs);
  let leftOut = 0;
  return (level: 'warn' | 'error', key: string, fields: object, message: string): void => {
    const isLeftOut = count(`${level} ${key}`) > 1 || count(level) > MOST_LINES;
    if (!isLeftOut) log[level](leftOut > 0 ? { ...fields, leftOut } : fields, message);
    leftOut = isLeftOut ? leftOut + 1 : 0;
  };
}

/** How many keys are counted at once; each takes about 100 bytes. */
const MOST_KEYS = 100_000;

/**
 * Counts by key, in stretches of time; with very many keys, a stretch ends early.
 * @returns a function that counts one more, and returns its number in this stretch, from 1
 */
export function counterBy(clock: MonotonicClock, stretchMs: number): (key: string) => number {
  const counts = new Map<string, number>();
  let began = Number.NEGATIVE_INFINITY;
  return (key) => {
    const now = clock.monotonic();
    if (now - began >= stretchMs || counts.size >= MOST_KEYS) {
      counts.clear();
      began = now;
    }
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count;
  };
}
