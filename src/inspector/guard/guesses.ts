import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';

/** What a token or a session allows. */
export type Right = 'change' | 'read';

interface GuessesOptions {
  /** what a token allows; undefined if it is a wrong one */
  readonly check: (token: string) => Right | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** After so many wrong tokens within a minute, no token is checked. */
const WRONG_OF_A_SOURCE = 10;
const WRONG_IN_ALL = 100;
/** The name in the log for sources whose tokens were not checked because of others. */
const OTHERS = 'others';

/**
 * Limits guesses of the admin token. Over the limit no token is checked, so that the right token gets the same answer as any other.
 * Guesses of strangers do not shut out a source that had the right token within a day: for that source, only its own wrong tokens count.
 * Nothing here waits, so that of guesses which come at one moment each sees those before it.
 */
export class Guesses {
  readonly #options: GuessesOptions;
  /** of this minute, by source */
  readonly #guesses = new Map<string, number>();
  #wrongInAll = 0;
  #minuteEnds = 0;
  /** when each source had the right token last */
  readonly #known = new Map<string, number>();

  constructor(options: GuessesOptions) {
    this.#options = options;
  }

  /** What a token allows, or after how many milliseconds a token of this source will be checked; undefined if it is a wrong one. */
  check(source: string, token: string): Right | { readonly waitMs: number } | undefined {
    const { check, clock } = this.#options;
    const now = clock.now();
    const isKnown = now - (this.#known.get(source) ?? Number.NEGATIVE_INFINITY) < DAY_MS;
    const isSourceOver = (this.#guesses.get(source) ?? 0) >= WRONG_OF_A_SOURCE;
    if (isSourceOver || (this.#wrongInAll >= WRONG_IN_ALL && !isKnown)) {
      this.#add(isSourceOver ? source : OTHERS);
      return { waitMs: Math.max(1, this.#minuteEnds - now) };
    }
    const right = check(token);
    if (right) {
      this.#known.set(source, now);
      return right;
    }
    this.#wrongInAll++;
    this.#add(source);
    return undefined;
  }

  /** Logs the first guess of a source at once; the end of the minute tells how many followed. */
  #add(source: string): void {
    const { clock, log } = this.#options;
    if (this.#guesses.size === 0) {
      this.#minuteEnds = clock.now() + MINUTE_MS;
      clock.after(MINUTE_MS, () => this.#endMinute());
    }
    const guesses = (this.#guesses.get(source) ?? 0) + 1;
    this.#guesses.set(source, guesses);
    if (guesses === 1) log.warn({ source, guesses }, 'wrong admin token');
  }

  #endMinute(): void {
    for (const [source, guesses] of this.#guesses) {
      if (guesses > 1) this.#options.log.warn({ source, guesses: guesses - 1 }, 'wrong admin token');
    }
    this.#guesses.clear();
    this.#wrongInAll = 0;
  }
}
