import { MemoryStore, type Options } from 'express-rate-limit';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';

export interface GuessesOptions {
  /** whether a token is the right one */
  readonly check: (token: string) => boolean;
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
/** The name for all sources together, and in the log for those whose tokens were not checked because of others. */
const OTHERS = 'others';

function hitsWithin(windowMs: number): MemoryStore {
  const hits = new MemoryStore();
  hits.init({ windowMs } as Options);
  return hits;
}

/**
 * Limits guesses of the admin token. Over the limit no token is checked, so that the right token gets the same answer as
 * any other. Guesses of strangers do not shut out a source that had the right token within a day: for that source, only
 * its own wrong tokens count.
 */
export class Guesses {
  readonly #options: GuessesOptions;
  readonly #bySource = hitsWithin(MINUTE_MS);
  readonly #inAll = hitsWithin(MINUTE_MS);
  readonly #known = hitsWithin(DAY_MS);
  /** of each source with a line in the log, how many guesses came since */
  readonly #untold = new Map<string, number>();

  constructor(options: GuessesOptions) {
    this.#options = options;
  }

  /** Whether a token is the right one, or after how many milliseconds a token of this source will be checked. */
  async check(source: string, token: string): Promise<boolean | { readonly waitMs: number }> {
    const { check, clock, count } = this.#options;
    // Counted first: many may come at the same moment.
    const own = await this.#bySource.increment(source);
    if (own.totalHits > WRONG_OF_A_SOURCE) return this.#unchecked(source, own.resetTime);
    const all = await this.#inAll.increment(OTHERS);
    const known = await this.#known.get(source);
    const isKnown = known?.resetTime !== undefined && known.resetTime.getTime() > clock.now();
    const isOver = all.totalHits > WRONG_IN_ALL && !isKnown;
    const isRight = !isOver && check(token);
    if (isOver || isRight) {
      await this.#bySource.decrement(source);
      await this.#inAll.decrement(OTHERS);
    }
    if (isOver) return this.#unchecked(OTHERS, all.resetTime);
    if (isRight) {
      await this.#known.resetKey(source); // its day begins again
      await this.#known.increment(source);
    } else {
      count('wrong');
      this.#tell(source);
    }
    return isRight;
  }

  #unchecked(source: string, until: Date | undefined) {
    const { clock, count } = this.#options;
    count('unchecked');
    this.#tell(source);
    return { waitMs: Math.max(1, Number(until ?? 0) - clock.now()) };
  }

  /** Logs the first guess at once, and a minute later how many followed. */
  #tell(source: string): void {
    const { clock, log } = this.#options;
    const untold = this.#untold.get(source);
    this.#untold.set(source, (untold ?? -1) + 1);
    if (untold !== undefined) return;
    log.warn({ source, guesses: 1 }, 'wrong admin token');
    clock.after(MINUTE_MS, () => {
      const guesses = this.#untold.get(source) ?? 0;
      this.#untold.delete(source);
      if (guesses > 0) log.warn({ source, guesses }, 'wrong admin token');
    });
  }
}
