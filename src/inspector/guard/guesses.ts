import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';

export interface GuessesOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** called for each request whose token is wrong or was not checked */
  readonly count: (result: 'wrong' | 'unchecked') => void;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** After so many wrong tokens within a minute, no token is checked. */
const WRONG_OF_A_SOURCE = 10;
const WRONG_IN_ALL = 100;
/** How many sources with the right token are remembered. */
const KNOWN_SOURCES = 100;
/** The name in the log for all sources that never had a token checked. */
const OTHERS = 'others';

interface Source {
  readonly wrong: Wrong;
  /** how many guesses are in no line of the log yet */
  untold: number;
}

/**
 * Limits guesses of the admin token. Over the limit no token is checked, so that the right token gets the same answer as
 * any other. Guesses of strangers do not shut out a source that had the right token within a day: for that source, only
 * its own wrong tokens count.
 */
export class Guesses {
  readonly #options: GuessesOptions;
  readonly #inAll = new Wrong(WRONG_IN_ALL);
  readonly #sources = new Map<string, Source>();
  /** when each source last had the right token, the oldest first */
  readonly #known = new Map<string, number>();

  constructor(options: GuessesOptions) {
    this.#options = options;
  }

  /** After how many milliseconds a token of this source will be checked; 0 for now. */
  waitMs(source: string): number {
    const now = this.#options.clock.now();
    const own = this.#sources.get(source)?.wrong.waitMs(now) ?? 0;
    return own > 0 || this.#isKnown(source, now) ? own : this.#inAll.waitMs(now);
  }

  /** A token was the right one. */
  right(source: string): void {
    this.#known.delete(source);
    this.#known.set(source, this.#options.clock.now());
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_SOURCES && oldest !== undefined) this.#known.delete(oldest);
  }

  /** A token was not the right one. */
  wrong(source: string): void {
    const now = this.#options.clock.now();
    this.#inAll.add(now);
    this.#options.count('wrong');
    this.#tell(source).wrong.add(now);
  }

  /** A token was not checked. */
  unchecked(source: string): void {
    this.#options.count('unchecked');
    this.#tell(this.#sources.has(source) ? source : OTHERS);
  }

  #isKnown(source: string, now: number): boolean {
    const at = this.#known.get(source);
    return at !== undefined && now - at < DAY_MS;
  }

  /** Logs the first guess at once; then at most a line a minute, with the number of guesses since the line before. */
  #tell(source: string): Source {
    const known = this.#sources.get(source);
    if (known) {
      known.untold++;
      return known;
    }
    const fresh = { wrong: new Wrong(WRONG_OF_A_SOURCE), untold: 0 };
    this.#sources.set(source, fresh);
    this.#options.log.warn({ source, guesses: 1 }, 'wrong admin token');
    this.#tellAgain(source, fresh);
    return fresh;
  }

  /** Forgets a source that was quiet for a minute: its wrong tokens do not count any more. */
  #tellAgain(source: string, entry: Source): void {
    this.#options.clock.after(MINUTE_MS, () => {
      if (entry.untold === 0) return void this.#sources.delete(source);
      this.#options.log.warn({ source, guesses: entry.untold }, 'wrong admin token');
      entry.untold = 0;
      this.#tellAgain(source, entry);
    });
  }
}

/** The times of the latest wrong tokens. */
class Wrong {
  readonly #limit: number;
  #times: number[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(now: number): void {
    this.#times = [...this.#times, now].slice(-this.#limit);
  }

  /** How long until fewer than the limit were within a minute. */
  waitMs(now: number): number {
    const recent = this.#times.filter((time) => time <= now && time > now - MINUTE_MS); // later: the clock was set back
    return recent.length < this.#limit ? 0 : (recent[0] ?? now) + MINUTE_MS - now;
  }
}
