import type { Answered } from '../../observer.ts';
import type { Result } from './request-results.ts';

/** Why a request was refused. It holds nothing of its token. */
export interface Rejection {
  /** milliseconds since the epoch */
  readonly at: number;
  readonly result: Result;
  readonly answer: Answered;
}

const KEPT = 200;

/** The last 200 rejections of this process. */
export class Rejections {
  readonly #kept: Rejection[] = [];
  #next = 0;

  add(rejection: Rejection): void {
    this.#kept[this.#next] = rejection;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Newest first. */
  list(): readonly Rejection[] {
    return [...this.#kept.slice(this.#next), ...this.#kept.slice(0, this.#next)].reverse();
  }
}
