import { systemClock } from '../../base/clock.ts';
import { terminal } from '../terminal.ts';

export interface ProgressOptions {
  /** what is being done, such as "exported" */
  readonly verb: string;
  readonly out?: { readonly isTTY?: boolean; write(text: string): unknown };
  readonly now?: () => number;
}

const BAR = 24;
const REFRESH_MS = 100;
const CLEAR_LINE = '\r\x1b[2K';

/** A line at the bottom of a terminal that says how far long work is, how fast it goes and how long it still takes. */
export class Progress {
  readonly #verb: string;
  readonly #out: NonNullable<ProgressOptions['out']>;
  readonly #now: () => number;
  readonly #began: number;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor({ verb, out = terminal().stderr, now = systemClock.now }: ProgressOptions) {
    this.#verb = verb;
    this.#out = out;
    this.#now = now;
    this.#began = now();
  }

  /**
   * @param done how many are done
   * @param share how much of the whole that is, in [0, 1]; undefined where nobody knows
   */
  show(done: number, share: number | undefined): void {
    const now = this.#now();
    if (!this.#out.isTTY || now - this.#shownAt < REFRESH_MS) return;
    this.#shownAt = now;
    const seconds = (now - this.#began) / 1000;
    const rate = seconds > 0 ? ` ${Math.round(done / seconds)}/s` : '';
    this.#out.write(`${CLEAR_LINE}${bar(share)}${done} ${this.#verb}${rate}${timeLeft(seconds, share)}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#shownAt > Number.NEGATIVE_INFINITY) this.#out.write(CLEAR_LINE);
  }
}

function bar(share: number | undefined): string {
  if (share === undefined) return '';
  const part = Math.min(1, Math.max(0, share));
  const full = Math.round(part * BAR);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${String(Math.floor(part * 100)).padStart(3)}%  `;
}

function timeLeft(seconds: number, share: number | undefined): string {
  if (share === undefined || share <= 0 || seconds <= 0) return '';
  const left = Math.max(0, Math.round((seconds * (1 - share)) / share));
  const minutes = Math.floor(left / 60);
  const text =
    minutes >= 60
      ? `${Math.floor(minutes / 60)} h ${minutes % 60} min`
      : minutes > 0
        ? `${minutes} min ${left % 60} s`
        : `${left} s`;
  return `, ${text} left`;
}
