import type { Clock, MonotonicClock } from '../../base/clock.ts';
import type { Answered, HandlerRun, Observer } from '../../observer.ts';
import { Metrics } from './metrics.ts';
import { RefusedWebhooks, Rejections } from './rejections.ts';
import { isRejection, resultOf } from './request-results.ts';
import { Stats } from './stats.ts';

/** The inspector's own observations, beside the store's data. All but the statistics is lost when the process ends. */
export class Watch implements Observer {
  readonly metrics: Metrics;
  readonly rejections = new Rejections();
  readonly stats = new Stats();
  readonly refusedWebhooks = new RefusedWebhooks();
  readonly startedAt: number;
  /** how many requests were answered and handlers have run */
  changes = 0;
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
      this.refusedWebhooks.accepted(answer.webhookId, now);
    } else if (isRejection(result)) {
      this.stats.count('rejected', answer.ms, now);
      if (answer.webhookId !== '') this.refusedWebhooks.refused(answer.webhookId, now);
      this.rejections.add({ at: now, result, answer });
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

  secretsFound(webhooks: readonly string[]): void {
    this.rejections.secretsFound(webhooks);
    this.refusedWebhooks.secretsFound(webhooks);
  }

  committed(ms: number): void {
    this.metrics.committed(ms);
    this.stats.count('commit', ms, this.#clock.now());
  }
}
