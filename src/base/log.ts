import { constants, fstatSync, openSync, write, writeSync } from 'node:fs';
import { type LevelWithSilent, type Logger, pino } from 'pino';

import { type Clock, systemClock } from './clock.ts';
import { standStill } from './stand-still.ts';
import { parsable, visibleLog } from './visible.ts';
import { WaitingLines } from './waiting-lines.ts';

/** Bytes of memory for lines that wait to be written, at most. */
const MOST_HELD = 8 * 1024 * 1024;
const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 250;
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
  const streamWrite = render && ((line: string) => render(parsable(line)));
  const log = pino({ level, ...visibleLog, ...(streamWrite && { hooks: { streamWrite } }) }, destination);
  return { log, dropped: () => destination.dropped, flush: () => destination.flush() };
}

/**
 * stdout or stderr for lines that a program must not wait for.
 * @param onResumed called when lines are taken again, with the number of those dropped meanwhile
 */
export function openDestination(fd: 1 | 2, onResumed: (lines: number) => void): LogDestination {
  const destination = new LogDestination({ fd: neverBlocking(fd), clock: systemClock, onResumed });
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

interface Options {
  readonly fd: number;
  readonly clock: Clock;
  /** called when lines are taken again, with the number of those dropped meanwhile */
  readonly onResumed: (lines: number) => void;
}

/**
 * Writes lines to a descriptor, in their order and each whole or not at all. A line that cannot be written now (ENOSPC
 * on a full disk, EAGAIN if the reader hangs, EPIPE if it is gone) waits and is tried again. Beyond MOST_HELD new lines
 * are dropped and counted, until half of the waiting lines are out. So the line with the count stands in the gap.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #clock: Clock;
  readonly #onResumed: Options['onResumed'];
  readonly #waiting = new WaitingLines();
  /** under way, or the rest of it; as much as a pipe takes, or one longer line */
  #chunk = NOTHING;
  #isWriting = false;
  #isPausing = false;
  #pauseMs = SHORTEST_PAUSE_MS;
  #dropped = 0;
  /** since when lines are dropped, as a number of lines; undefined while they are taken */
  #droppedBefore: number | undefined;
  #hasGivenUp = false;
  #isEnding = false;
  #onIdle = () => {};

  constructor({ fd, clock, onResumed }: Options) {
    this.#fd = fd;
    this.#clock = clock;
    this.#onResumed = onResumed;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Takes a line, its line break included. Pino calls this. */
  write(text: string): void {
    if (this.#droppedBefore !== undefined) {
      this.#dropped++;
      return;
    }
    const length = Buffer.byteLength(text);
    if (this.#held + this.#waiting.costOf(length) > MOST_HELD) {
      this.#droppedBefore = this.#dropped++;
      this.#resume(); // at once, where it is that line alone that is too large
      return;
    }
    if (this.#held === 0 && !this.#isEnding) {
      this.#chunk = Buffer.from(text);
      this.#writeOn();
      return;
    }
    this.#waiting.add(text);
    if (this.#isEnding) this.writeRest();
    else if (!this.#isWriting && !this.#isPausing) this.#writeOn();
  }

  /** Bytes of memory for what is not written yet. */
  get #held(): number {
    return this.#chunk.length + this.#waiting.held;
  }

  /** Resolves once no line waits any more, or after a second; lines that still wait are dropped. */
  async flush(): Promise<void> {
    if (this.#held === 0) return;
    await new Promise<void>((resolve) => {
      // Not the clock's, whose timers do not keep the process alive: this one is all that does.
      const timer = setTimeout(resolve, LAST_LINES_MS);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#hasGivenUp = this.#held > 0;
  }

  /**
   * Writes the waiting lines as the process ends, when nothing asynchronous happens any more; for a second at most. Lines
   * that come later still are written the same way.
   */
  writeRest(): void {
    this.#isEnding = true;
    if (this.#hasGivenUp) return;
    const giveUpAt = performance.now() + LAST_LINES_MS;
    // A chunk under way is written by its thread.
    let rest = Buffer.concat([this.#isWriting ? NOTHING : this.#chunk, ...this.#waiting.takeAll()]);
    if (!this.#isWriting) this.#chunk = NOTHING;
    this.#hasGivenUp = true; // until all of it is out
    while (rest.length > 0 && performance.now() < giveUpAt) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isBusy(error)) return;
        standStill(SHORTEST_PAUSE_MS);
      }
    }
    this.#hasGivenUp = rest.length > 0;
    if (this.#hasGivenUp) return;
    this.#resume();
  }

  #writeOn(): void {
    if (this.#chunk.length === 0) this.#chunk = this.#waiting.takeFirst() ?? NOTHING;
    if (this.#chunk.length === 0) {
      this.#onIdle();
      return;
    }
    this.#isWriting = true;
    write(this.#fd, this.#chunk, (error, written) => {
      this.#isWriting = false;
      if (error) {
        this.#tryLater();
        return;
      }
      this.#pauseMs = SHORTEST_PAUSE_MS;
      this.#chunk = this.#chunk.subarray(written);
      this.#resume();
      // Telling may have set it going already.
      if (!this.#isWriting) this.#writeOn();
    });
  }

  #tryLater(): void {
    this.#isPausing = true;
    this.#clock.after(this.#pauseMs, () => {
      this.#isPausing = false;
      this.#writeOn();
    });
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  #resume(): void {
    if (this.#droppedBefore === undefined || this.#held > MOST_HELD / 2) return;
    const lines = this.#dropped - this.#droppedBefore;
    this.#droppedBefore = undefined;
    this.#onResumed(lines);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EINTR');
}
