import type { z } from 'zod';
import { cut } from '../../base/cut.ts';
import { isUnavailable } from '../../base/errors.ts';
import { instanceNameOf } from '../../config.ts';
import { digestOf } from '../../notification/digest.ts';
import type { AdminNeeds } from '../../observer.ts';
import { canCommit } from '../../receiver/readiness.ts';
import type { EventFilter, StoredEvent } from '../../store/event-store.ts';
import {
  attemptJson,
  eventJson,
  eventTimeOf,
  iso,
  isoOrNull,
  runningJson,
  stateJson,
} from '../../store/lists/event-json.ts';
import type { RefusedWebhook } from '../watch/rejections.ts';
import { adviceFor } from '../watch/request-results.ts';
import type { Watch } from '../watch/watch.ts';
import type {
  channelsAnswer,
  eventDetailAnswer,
  eventsAnswer,
  quarantineAnswer,
  rejectionsAnswer,
  statsAnswer,
  webhooksAnswer,
} from './answer-schemas.ts';
import { Refused } from './endpoint.ts';
import type { BulkReplays } from './replays.ts';

/** The sources of what the inspector shows: store and configuration of the service, its own watch, and its replays. */
export type Inspected = AdminNeeds & { readonly watch: Watch; readonly replays: BulkReplays };

/** How many events one search looks at: well under 100 ms in a store of 5 million events. */
const REACH = 20_000;
/** How many events of the same resource are shown on either side of one. */
const NEIGHBOURS = 20;

export interface ListQuery {
  readonly filter: EventFilter;
  readonly before: string | undefined;
  readonly limit: number;
}

export async function events(
  { store }: Pick<Inspected, 'store'>,
  { filter, before, limit }: ListQuery,
): Promise<z.input<typeof eventsAnswer>> {
  const found = await store.search(filter, { after: before, limit, reach: REACH });
  return { events: found.events.map(eventJson), next: found.next ?? null };
}

export async function event(
  { store }: Pick<Inspected, 'store'>,
  id: string,
): Promise<z.input<typeof eventDetailAnswer>> {
  const [found, timeline] = await Promise.all([store.event(id), store.timeline(id, NEIGHBOURS)]);
  if (!found || !timeline) throw new Refused(404, 'there is no such event');
  const [attempts, running, steps, state] = await Promise.all([
    store.attempts(id),
    store.running(id),
    store.steps(id),
    store.state(found.resource),
  ]);
  return {
    ...eventJson(found),
    digest: found.body === undefined ? null : digestOf(JSON.parse(found.body)).toString('hex'),
    late: found.late ?? false,
    history: attempts.map(attemptJson),
    running: running ? runningJson(running) : null,
    steps: steps.map(({ name, result }) => ({ name, result: result === null ? null : JSON.parse(result) })),
    state: stateJson(state),
    timeline: timeline.map(neighbour),
  };
}

function neighbour(other: StoredEvent) {
  return { id: other.id, kind: other.kind, event_time: eventTimeOf(other), status: other.status };
}

export interface ChannelsQuery {
  readonly state: 'active' | 'idle' | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}

const PREFIX = 'channel:';

export async function channels(
  { store }: Pick<Inspected, 'store'>,
  { state, after, limit }: ChannelsQuery,
): Promise<z.input<typeof channelsAnswer>> {
  const found = await store.channels({ state, after: after && `${PREFIX}${after}`, limit });
  const list = found.channels.map(({ resource, siteId, since, event: id, state: now }) => ({
    channel_id: resource.slice(PREFIX.length),
    site_id: siteId,
    state: now,
    since: since === 0 ? null : iso(since),
    event: id,
  }));
  return {
    counts: found.counts,
    channels: list,
    next: list.length < limit ? null : (list.at(-1)?.channel_id ?? null),
  };
}

/** What `last_10_minutes` is about. */
export const RECENT_MS = 600_000;
const NEWEST_QUARANTINED = 100;
/** Enough of a body that nobody has verified: of a hundred whole ones, a page could have many megabytes. */
const LONGEST_BODY = 4000;

export async function stats({
  store,
  watch,
  clock,
  config,
}: Inspected): Promise<z.input<typeof statsAnswer>> {
  const now = clock.now();
  const [{ pending, running, dead, oldestPendingAt, quarantined }, lastRecordedAt, known, canRecord] =
    await Promise.all([
      store.overview(),
      newestReceipt(store, { reach: 1 }),
      webhooksWithSecret(store),
      canCommit(store, clock),
    ]);
  const refusedWebhooks = await webhooksLeftOut({ store, watch }, known ?? new Set(), now);
  const { rates } = watch;
  const recent = (counter: Parameters<typeof rates.recent>[0]) => rates.recent(counter, RECENT_MS, now);
  return {
    instance: instanceNameOf(config),
    started_at: iso(watch.startedAt),
    events: { pending, running, dead },
    oldest_pending_at: isoOrNull(oldestPendingAt),
    last_recorded_at: isoOrNull(lastRecordedAt),
    quarantined,
    can_record: canRecord,
    can_read_secrets: known !== undefined,
    last_10_minutes: {
      accepted: recent('accepted'),
      duplicate: recent('duplicate'),
      rejected: recent('rejected'),
      not_recorded: recent('notRecorded'),
      refusals_are_over: watch.rejections.areOver(RECENT_MS, now),
      refused_webhooks: refusedWebhooks.map(({ webhookId, refused, lastRefusedAt, lastAcceptedAt }) => ({
        webhook_id: webhookId,
        refused,
        last_refused_at: iso(lastRefusedAt),
        last_accepted_at: isoOrNull(lastAcceptedAt),
      })),
      handled: recent('handled'),
      failed: recent('failed'),
      ack_ms: rates.quantiles('ack', RECENT_MS, now),
      handler_ms: rates.quantiles('handler', RECENT_MS, now),
      commit_ms: rates.quantiles('commit', RECENT_MS, now),
    },
    last_hour: rates.series(now) as z.input<typeof statsAnswer>['last_hour'],
  };
}

/** Undefined where the secrets cannot be read, as they were sealed under another key: the service goes on with those that it holds. */
async function webhooksWithSecret(store: Inspected['store']): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set((await store.secrets()).map(({ webhookId }) => webhookId));
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** How many of the newest events are looked at for one of a webhook. */
const NEAR = 1000;

/** When the newest event, or the newest of a webhook, came in; undefined if none of the newest `reach` events is one. */
async function newestReceipt(
  store: Inspected['store'],
  { webhook, reach }: { readonly webhook?: string; readonly reach: number },
): Promise<number | undefined> {
  const { events } = await store.search({ webhook }, { limit: 1, reach });
  return events[0]?.receivedAt;
}

/** Webhooks of which this process refuses everything, while no other process and no admission has brought an event of theirs. */
async function webhooksLeftOut(
  { store, watch }: Pick<Inspected, 'store' | 'watch'>,
  known: ReadonlySet<string>,
  now: number,
): Promise<readonly RefusedWebhook[]> {
  const refused = watch.refusedWebhooks
    .list(RECENT_MS, now)
    // Strangers can name any webhook; only known ones are listed.
    .filter(({ webhookId, lastAcceptedAt }) => known.has(webhookId) || lastAcceptedAt !== undefined);
  const receipts = await Promise.all(
    refused.map(({ webhookId }) => newestReceipt(store, { webhook: webhookId, reach: NEAR })),
  );
  return refused.filter((_, index) => (receipts[index] ?? 0) <= now - RECENT_MS);
}

export async function rejections({ watch }: Inspected): Promise<z.input<typeof rejectionsAnswer>> {
  return {
    rejections: watch.rejections.list().map(({ at, result, answer }) => ({
      at: iso(at),
      status: answer.status,
      result,
      reason: answer.refusal?.reason ?? answer.error ?? '',
      path: answer.refusal?.reason === 'claims differ' ? answer.refusal.path : null,
      kind: answer.kind,
      webhook_id: answer.webhookId,
      source: answer.source,
      advice: adviceFor(result, answer),
    })),
  };
}

export async function quarantine({ store }: Inspected): Promise<z.input<typeof quarantineAnswer>> {
  const { total, webhooks, newest } = await store.quarantineSummary(NEWEST_QUARANTINED);
  return {
    total,
    webhooks: webhooks.map(({ webhookId, notifications, firstAt, lastAt }) => ({
      webhook_id: webhookId,
      notifications,
      first_at: iso(firstAt),
      last_at: iso(lastAt),
    })),
    newest: newest.map(
      ({ webhookId, kind, siteId, resource, receivedAt, deliveries, source, body, ...entry }) => ({
        webhook_id: webhookId,
        kind,
        site_id: siteId,
        resource,
        event_time: eventTimeOf(entry),
        received_at: iso(receivedAt),
        deliveries,
        source,
        body: cut(body, LONGEST_BODY),
      }),
    ),
  };
}

/** The webhooks with stored secrets. The secrets themselves are not shown. */
export async function webhooks({ store, config }: Inspected): Promise<z.input<typeof webhooksAnswer>> {
  const known = Map.groupBy(await store.secrets(), ({ webhookId }) => webhookId);
  return {
    webhooks: [...known].map(([webhook_id, secrets]) => ({
      webhook_id,
      secrets: secrets.map(({ createdAt, retireAt }) => ({
        created_at: iso(createdAt),
        retires_at: isoOrNull(retireAt),
      })),
    })),
    fallback: config.WEBHOOK_SECRET !== undefined,
  };
}
