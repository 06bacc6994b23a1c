import type { Clock, MonotonicClock } from '../../base/clock.ts';
import type { Answered, HandlerRun, Observer } from '../../observer.ts';
import { Feed } from './feed.ts';
import { Metrics } from './metrics.ts';
import { Rates } from './rates.ts';

import { RefusedWebhooks, Rejections } from './rejections.ts';
import { isRejection, resultOf } from './request-results.ts';

/** The inspector's own observations, beside the store's data. It is lost when the process ends. */
export class Watch implements Observer {
  readonly metrics: Metrics;
  readonly rejections = new Rejections();
  readonly rates = new Rates();
  readonly refusedWebhooks = new RefusedWebhooks();
  readonly feed: Feed;
  readonly startedAt: number;
  readonly #clock: Clock;

  constructor(clock: MonotonicClock, droppedLogLines?: () => number) {
    this.metrics = new Metrics(droppedLogLines);
    this.#clock = clock;
    this.startedAt = clock.now();
    this.feed = new Feed(clock);
  }

  answered(answer: Answered): void {
    const now = this.#clock.now();
    const result = resultOf(answer);
    this.metrics.answered(result, answer.ms);
    if (answer.recorded) {
      const { id, status } = answer.recorded;
      this.rates.count(status, now);
      this.rates.time('ack', answer.ms, now);
      this.refusedWebhooks.accepted(answer.webhookId, now);
      this.feed.changed(id, status, answer.kind);
    } else if (isRejection(result)) {
      this.rates.count('rejected', now);
      if (answer.webhookId !== '') this.refusedWebhooks.refused(answer.webhookId, now);
      this.rejections.add({ at: now, result, answer });
      this.feed.rejected();
    } else {
      this.rates.count('notRecorded', now);
    }
  }

  ran(run: HandlerRun): void {
    const now = this.#clock.now();
    this.metrics.ran(run);
    this.rates.count(run.status === 'handled' || run.status === 'skipped' ? 'handled' : 'failed', now);
    this.rates.time('handler', run.ms, now);
    this.feed.changed(run.id, run.status, run.kind);
  }

  secretsFound(webhooks: readonly string[]): void {
    this.rejections.secretsFound(webhooks);
    this.refusedWebhooks.secretsFound(webhooks);
  }

  committed(ms: number): void {
    this.metrics.committed(ms);
    this.rates.time('commit', ms, this.#clock.now());
  }
}
