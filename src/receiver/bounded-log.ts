import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';

/** At most 200 MB a day. */
const LINES = 10;
/** So many of them are for failures alone: an operator must see beside any flood of forgeries that the store fails. */
const FOR_FAILURES = 2;
const SECOND_MS = 1000;

interface BoundedLogOptions {
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly clock: Clock;
  /** lines a second, whatever they are about and from all sources together; 10 without it */
  readonly mostASecond?: number | undefined;
}

/** A request, whose own log is made when it is first asked for; or another part with a log. */
interface Speaker {
  readonly log: Pick<Logger, 'warn' | 'error'>;
}

/**
 * Bounds the lines that strangers can cause, for all sources together: a flood may come from any number of sources. Lines
 * left out are counted, and one line has the count at the end of its second.
 */
export class BoundedLog {
  readonly #options: BoundedLogOptions;
  readonly #most: number;
  #written = 0;
  #refused = 0;
  #failed = 0;
  #isCounting = false;

  constructor(options: BoundedLogOptions) {
    this.#options = options;
    this.#most = options.mostASecond ?? LINES;
  }

  /** A line on what was refused because of what its sender sent. */
  refusal(speaker: Speaker, fields: object, message: string): void {
    if (this.#mayWrite(this.#most - FOR_FAILURES)) speaker.log.warn(fields, message);
    else this.#refused++;
  }

  /** A line on what the service could not do, whoever asked for it. */
  failure(speaker: Speaker, fields: object, message: string): void {
    if (this.#mayWrite(this.#most)) speaker.log.error(fields, message);
    else this.#failed++;
  }

  #mayWrite(most: number): boolean {
    if (!this.#isCounting) {
      this.#isCounting = true;
      this.#options.clock.after(SECOND_MS, () => this.#endSecond());
    }
    if (this.#written >= most) return false;
    this.#written++;
    return true;
  }

  #endSecond(): void {
    const { log } = this.#options;
    const [leftOut, failed] = [this.#refused + this.#failed, this.#failed];
    if (failed > 0) log.error({ leftOut, failed }, LEFT_OUT);
    else if (leftOut > 0) log.warn({ leftOut }, LEFT_OUT);
    this.#written = 0;
    this.#refused = 0;
    this.#failed = 0;
    this.#isCounting = false;
  }
}

const LEFT_OUT = 'more requests were refused than are logged';
