import { type Clock, repeat, within } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { kitVersion } from '../../base/program.ts';
import { networkOf } from '../../base/request-source.ts';
import { slotOf } from '../../notification/kinds.ts';
import type { Answered, HandlerRun, Observer, ReportNeeds } from '../../observer.ts';
import { SHUTTING_DOWN } from '../../receiver/verdict.ts';
import type { Refusals, Stat } from '../../store/event-store.ts';
import { metricsOf } from './metrics.ts';
import { isRejection, type RejectionResult, rejectionResultOf, resultOf } from './request-results.ts';

/**
 * What statistics count: requests, runs of handlers, commits, and looks at the store, every ten seconds: the milliseconds of `backlog` are
 * pending events, and those of `busy` say how busy what writes is, in per cent.
 */
export const RATES = [
  'accepted',
  'duplicate',
  'rejected',
  'not_recorded',
  'handled',
  'skipped',
  'failed',
] as const;
export type Counter = (typeof RATES)[number] | 'commit' | 'backlog' | 'busy';

type Refused = Omit<Refusals, 'inARow' | 'rowSince'>;
type Amount = Pick<Stat, 'count' | 'ms' | 'slowest'>;

export const MINUTE_MS = 60_000;
const EVERY_MS = 10_000;
/** A store that stands still must hold up neither a page nor a stop. */
const PATIENCE_MS = 1000;
/** Strangers can name any webhook: until the next report, further groups are counted of webhooks with a stored secret alone. */
const MOST_GROUPS = 1000;
const KEPT_REJECTIONS = 200;

/** What was counted and is not stored yet. `counted` is by minute, kind and result; `accepted` says when the last of each webhook was. */
const nothing = () => ({
  counted: new Map<string, Stat>(),
  refused: new Map<string, Refused>(),
  accepted: new Map<string, number>(),
});

/** The inspector's own observations. The store gets what it counts; all else is lost when the process ends. */
export class Watch implements Observer {
  readonly metrics = metricsOf();
  /** how many requests were answered and handlers have run */
  changes = 0;
  /** the last refused requests, newest first, and when they came */
  rejections: readonly { at: number; result: RejectionResult; answer: Answered }[] = [];
  readonly #clock: Clock;
  readonly #startedAt: number;
  #unreported = nothing();
  /** webhooks with a stored secret, some seconds ago */
  #ours: ReadonlySet<string> = new Set();
  #needs: ReportNeeds | undefined;
  #reported = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  answered(answer: Answered): void {
    const now = this.#clock.now();
    this.changes++;
    const result = resultOf(answer);
    this.metrics.notifications.inc({ result });
    if (answer.recorded) {
      this.metrics.ack.observe(answer.ms / 1000);
      // Senders may name any kind, and each would have rows of its own.
      this.#count(answer.recorded.status, answer.ms, slotOf(answer));
      this.#unreported.accepted.set(answer.webhookId, now);
    } else if (isRejection(result)) {
      const { webhookId, refusal } = answer;
      // Why it could not be verified, whatever it was told.
      const reason = refusal ? rejectionResultOf(refusal) : result;
      const network = networkOf(answer.source);
      this.#count('rejected', answer.ms);
      this.#addRefused({ reason, webhookId, network, firstAt: now, lastAt: now, count: 1 });
      this.rejections = [{ at: now, result, answer }, ...this.rejections].slice(0, KEPT_REJECTIONS);
    } else if (result !== 'probe' && answer.error !== SHUTTING_DOWN.error) {
      // At a stop, proxies and senders turn to another process, or to the next one.
      this.#count('not_recorded', answer.ms);
    }
  }

  ran({ outcome, status, ms, kind, subscriber }: HandlerRun): void {
    this.changes++;
    this.metrics.handler.observe({ kind, outcome, ...(subscriber && { subscriber }) }, ms / 1000);
    // It comes back, and has neither ended nor failed.
    if (outcome === 'retry' || outcome === 'elsewhere') return;
    this.#count(status === 'handled' || status === 'skipped' ? status : 'failed', ms, kind, subscriber);
  }

  committed(ms: number): void {
    this.metrics.commit.observe(ms / 1000);
    this.#count('commit', ms);
  }

  /** Reports every ten seconds. @returns a function that does it once more, and says that this process stops in order */
  keepReporting(needs: ReportNeeds): () => Promise<void> {
    const { store, config, clock, log } = needs;
    this.#needs = needs;
    void this.#report(); // at once: the first event may end the process, and others must know which handlers it has
    const stop = repeat(clock, 0, async () => {
      this.#count('busy', 100 * store.busy());
      const overview = await store.reports.overview().catch(() => undefined); // the report that follows says why
      if (overview) this.#count('backlog', overview.pending);
      const secrets = await store.secrets.all().catch(() => undefined); // under another key, those of before count
      if (secrets) this.#ours = new Set(secrets.map(({ webhookId }) => webhookId));
      await this.#report();
      return EVERY_MS;
    });
    return async () => {
      stop();
      const left = this.#report()
        .then(() => store.reports.leave({ name: config.INSTANCE_NAME, startedAt: this.#startedAt }))
        .catch((error) => log.warn({ error: messageOf(error) }, 'the stop could not be reported'));
      await within(clock, PATIENCE_MS, left);
    };
  }

  /** Stores the counts so far. Readers of the statistics ask for this first. */
  async report(): Promise<void> {
    await within(this.#clock, PATIENCE_MS, this.#report());
  }

  /** One report after the other, so that none says that a process lives which has left. */
  #report(): Promise<void> {
    this.#reported = this.#reported.then(() => this.#needs && this.#store(this.#needs));
    return this.#reported;
  }

  /** What the store does not take is reported with the next. */
  async #store({ store, config, log, kinds, running }: ReportNeeds): Promise<void> {
    const taken = this.#unreported;
    this.#unreported = nothing();
    const { accepted } = taken;
    try {
      const own = { name: config.INSTANCE_NAME, version: kitVersion, startedAt: this.#startedAt };
      const instance = { ...own, kinds, running: running() };
      const stats = [...taken.counted.values()];
      const refusals = [...taken.refused.values()].map((one) => inRow(one, accepted.get(one.webhookId)));
      await store.reports.report({ instance, stats, refusals, accepted: [...accepted.keys()] });
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'statistics were not stored');
      const since = this.#unreported;
      this.#unreported = taken;
      for (const one of since.counted.values()) this.#addCounted(one);
      for (const one of since.refused.values()) this.#addRefused(one);
      for (const [id, at] of since.accepted) accepted.set(id, at);
    }
  }

  #count(result: Counter, ms: number, kind = '', subscriber = ''): void {
    const now = this.#clock.now();
    const minute = now - (now % MINUTE_MS);
    this.#addCounted({ minute, subscriber, kind, result, count: 1, ms, slowest: ms });
  }

  #addCounted(more: Stat): void {
    const key = `${more.minute} ${more.subscriber} ${more.kind} ${more.result}`;
    const { counted } = this.#unreported;
    const known = counted.get(key);
    counted.set(key, known ? { ...more, ...sumOf([known, more]) } : more);
  }

  /** @param more came after what is counted already */
  #addRefused(more: Refused): void {
    const { reason, webhookId, network } = more;
    const { refused } = this.#unreported;
    let key = JSON.stringify([reason, webhookId, network]);
    if (!refused.has(key) && refused.size >= MOST_GROUPS) {
      if (!this.#ours.has(webhookId)) return;
      key = JSON.stringify([reason, webhookId]); // under the network of the last one: there may be any number of networks
    }
    const { firstAt, count } = refused.get(key) ?? { ...more, count: 0 };
    refused.set(key, { ...more, firstAt, count: count + more.count });
  }
}

/** What was refused is in a row unless something of the webhook was accepted meanwhile: what came behind that counts with the next report. */
function inRow(one: Refused, acceptedAt = 0): Refusals {
  const isRow = one.firstAt > acceptedAt;
  return { ...one, inARow: isRow ? one.count : 0, rowSince: isRow ? one.firstAt : undefined };
}

/** All of some sums in one. */
export function sumOf(sums: readonly Amount[]): Amount {
  return {
    count: sums.reduce((sum, { count }) => sum + count, 0),
    ms: sums.reduce((sum, { ms }) => sum + ms, 0),
    slowest: Math.max(0, ...sums.map(({ slowest }) => slowest)),
  };
}
