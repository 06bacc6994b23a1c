import { z } from 'zod';
import { cut } from '../../base/text.ts';
import type { Change, Refusals } from '../../store/event-store.ts';
import { iso, isoOrNull, jsonOf, reminderJson, unprovenJson } from '../../store/queue/lists/event-json.ts';
import { adviceOnRefused } from '../watch/request-results.ts';
import type { Inspected } from './endpoint.ts';

/** How many groups an answer has: strangers and handlers could make thousands. */
const MOST_GROUPS = 100;

/**
 * Dead events, and those that wait after a failure, in groups: the largest first. `error` is a first line in which * stands for what differs,
 * and a filter of that name. Of those that wait, `next_at` is when the next one is tried again, and `failing_since` when the oldest failed
 * first. `more` counts further groups.
 */
export async function problemList({ store }: Inspected) {
  const found = await store.queue.problems();
  return {
    problems: found
      .slice(0, MOST_GROUPS)
      .map(({ failedSince, ...one }) => ({ ...jsonOf(one), failing_since: isoOrNull(failedSince) })),
    more: Math.max(0, found.length - MOST_GROUPS),
  };
}

export const channelsQuery = z.object({
  state: z.enum(['active', 'idle']).optional(),
  after: z.string().max(200).optional().describe('a channel_id'),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});

const PREFIX = 'channel:';

/** Live channels, the latest change of state first; `next` is the `after` of the next page. */
export async function channelList({ store }: Inspected, asked: z.output<typeof channelsQuery>) {
  const { state, after, limit } = asked;
  const found = await store.reports.channels({ state, after: after && `${PREFIX}${after}`, limit });
  const list = found.channels.map(({ resource, siteId, since, event, state: now }) => ({
    channel_id: resource.slice(PREFIX.length),
    site_id: siteId,
    state: now,
    since: isoOrNull(since || undefined),
    event,
  }));
  const next = list.length < limit ? null : (list.at(-1)?.channel_id ?? null);
  return { counts: found.counts, channels: list, next };
}

const text = z.string().max(1000);
const dueAt = z.coerce.number<string>().int();
/** Where a page of reminders ended. */
const place = z.object({ dueAt, subscriber: text, resource: text, name: text });
const membersOf = (query: string) => Object.fromEntries(new URLSearchParams(query));

export const remindersQuery = z.object({
  after: text.transform(membersOf).pipe(place).optional().describe('the `next` of an answer'),
  limit: channelsQuery.shape.limit,
});

/** What is set for media and channels, the next one first; `next` is the `after` of the next page. */
export async function reminderList({ store }: Inspected, asked: z.output<typeof remindersQuery>) {
  const found = await store.queue.reminders(asked);
  const last = found.length < asked.limit ? undefined : found.at(-1);
  const next = last ? `${new URLSearchParams({ ...place.parse(last), dueAt: `${last.dueAt}` })}` : null;
  return { reminders: found.map(reminderJson), next };
}

/** Refused requests of all processes by reason, webhook and network: the last ones first. `more` counts further groups. */
export async function refusals({ watch, store }: Inspected) {
  await watch.report();
  const found = await store.reports.refusals();
  return {
    refusals: found.slice(0, MOST_GROUPS).map(refusalJson),
    more: Math.max(0, found.length - MOST_GROUPS),
  };
}

/** `webhook_id` is as the requests claimed it; empty where they named none. `in_a_row`: since something of the webhook was last accepted. */
export function refusalJson({ reason, webhookId, network, firstAt, lastAt, count, inARow }: Refusals) {
  const advice = adviceOnRefused(reason, { webhookId });
  const times = { first_at: iso(firstAt), last_at: iso(lastAt) };
  return { reason, webhook_id: webhookId, network, ...times, count, in_a_row: inARow, advice };
}

/** `path` is a JSON Pointer of the first member that differs from the claims. */
export async function rejections({ watch }: Inspected) {
  return {
    rejections: watch.rejections.map(({ at, result, answer }) => ({
      at: iso(at),
      status: answer.status,
      result,
      reason: answer.refusal?.reason ?? answer.error ?? '',
      path: answer.refusal?.reason === 'claims differ' ? answer.refusal.path : null,
      kind: answer.kind,
      webhook_id: answer.webhookId,
      source: answer.source,
      advice: adviceOnRefused(result, answer),
    })),
  };
}

const NEWEST_QUARANTINED = 100;
/** Enough of a body that nobody has verified: of a hundred whole ones, a page could have many megabytes. */
const LONGEST_BODY = 4000;

export async function quarantine({ store }: Inspected) {
  const { total, webhooks, newest } = await store.quarantine.summary({ newest: NEWEST_QUARANTINED });
  return {
    total,
    webhooks: webhooks.map(({ webhookId, notifications, firstAt, lastAt }) => ({
      webhook_id: webhookId,
      notifications,
      first_at: iso(firstAt),
      last_at: iso(lastAt),
    })),
    newest: newest.map((entry) => ({ ...unprovenJson(entry), body: cut(entry.body, LONGEST_BODY) })),
  };
}

const { limit } = channelsQuery.shape;
export const auditQuery = z.object({ before: z.coerce.number().int().optional().describe('a seq'), limit });

/** The changes that people made, the newest first; `next` is the `before` of the next page. Nobody has checked `who`. */
export async function audit({ store }: Inspected, asked: z.output<typeof auditQuery>) {
  const found = await store.reports.changes(asked);
  const next = found.length < asked.limit ? null : (found.at(-1)?.seq ?? null);
  const json = (one: Change) => ({ ...jsonOf(one), at: iso(one.at), filters: JSON.parse(one.filters) });
  return { changes: found.map(json), next };
}
