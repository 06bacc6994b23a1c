import { systemClock } from '../../base/clock.ts';
import type { Listener, Stage } from '../../replay/replay-listener.ts';
import { say } from '../print.ts';
import { terminal } from '../terminal.ts';

/** Where progress is shown. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows on stderr how far a replay is, if stderr is a terminal, and what the replay has to say. */
export function listenerOnStderr(out: ProgressOutput = terminal().stderr): Listener {
  return {
    isWatched: out.isTTY === true,
    begin: (verb) => new ProgressBar(verb, out),
    say,
  };
}

const BAR = 24;
const REFRESH_MS = 100;
const CLEAR_LINE = '\r\x1b[2K';

/** A line at the bottom of a terminal: how far long work is, how fast it goes and how long it still takes. */
export class ProgressBar implements Stage {
  readonly #verb: string;
  readonly #out: ProgressOutput;
  readonly #now: () => number;
  readonly #began: number;
  #shownAt = Number.NEGATIVE_INFINITY;

  /** @param verb what happens to each event, such as "exported" */
  constructor(verb: string, out: ProgressOutput, now = systemClock.now) {
    this.#verb = verb;
    this.#out = out;
    this.#now = now;
    this.#began = now();
  }

  show(done: number, share: number | undefined): void {
    const now = this.#now();
    if (!this.#out.isTTY || now - this.#shownAt < REFRESH_MS) return;
    this.#shownAt = now;
    const seconds = (now - this.#began) / 1000;
    const rate = seconds > 0 ? ` ${Math.round(done / seconds)}/s` : '';
    this.#out.write(`${CLEAR_LINE}${bar(share)}${done} ${this.#verb}${rate}${timeLeft(seconds, share)}`);
  }

  /** Removes the line. */
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
  return `, ${roughly(Math.max(0, Math.round((seconds * (1 - share)) / share)))} left`;
}

/** A length of time in its two largest units, such as `2 h 5 min`, `5 min 3 s` or `6 s`. */
function roughly(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
