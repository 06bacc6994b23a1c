import type { Clock, MonotonicClock } from '../../base/clock.ts';
import type { Answered, HandlerRun, Observer } from '../../observer.ts';
import { Metrics } from './metrics.ts';
import { isRejection, type Result, resultOf } from './request-results.ts';
import { Stats } from './stats.ts';

/** A refused request and the reason. It contains no part of the token. */
interface Rejection {
  /** milliseconds since the epoch */
  readonly at: number;
  readonly result: Result;
  readonly answer: Answered;
}

const KEPT_REJECTIONS = 200;

/** The inspector's own observations, beside the store's data. All but the statistics is lost when the process ends. */
export class Watch implements Observer {
  readonly metrics: Metrics;
  readonly stats = new Stats();
  readonly startedAt: number;
  /** how many requests were answered and handlers have run */
  changes = 0;
  /** the last ones, newest first */
  rejections: readonly Rejection[] = [];
  readonly #clock: Clock;

  constructor(clock: MonotonicClock, droppedLogLines?: () => number) {
    this.metrics = new Metrics(droppedLogLines);
    this.#clock = clock;
    this.startedAt = clock.now();
  }

  answered(answer: Answered): void {
    const now = this.#clock.now();
    this.changes++;
    const result = resultOf(answer);
    this.metrics.answered(result, answer.ms);
    if (answer.recorded) {
      this.stats.count(answer.recorded.status, answer.ms, now, answer.kind);
    } else if (isRejection(result)) {
      this.stats.count('rejected', answer.ms, now);
      this.rejections = [{ at: now, result, answer }, ...this.rejections].slice(0, KEPT_REJECTIONS);
    } else {
      this.stats.count('not_recorded', answer.ms, now);
    }
  }

  ran(run: HandlerRun): void {
    const now = this.#clock.now();
    this.changes++;
    this.metrics.ran(run);
    const isDone = run.status === 'handled' || run.status === 'skipped';
    this.stats.count(isDone ? 'handled' : 'failed', run.ms, now, run.kind);
  }

  committed(ms: number): void {
    this.metrics.committed(ms);
    this.stats.count('commit', ms, this.#clock.now());
  }
}
