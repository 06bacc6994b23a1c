import { z } from 'zod';
import { cut } from '../../base/text.ts';
import type { Change, Problem, Refusals } from '../../store/event-store.ts';
import { iso, isoOrNull, jsonOf, reminderJson, unprovenJson } from '../../store/queue/lists/event-json.ts';
import { adviceOnRefused } from '../watch/request-results.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

/** How many groups an answer has: strangers and handlers could make thousands. */
const MOST_GROUPS = 100;
const NEWEST_QUARANTINED = 100;
/** Enough of a body that nobody has verified: of a hundred whole ones, a page could have many megabytes. */
const LONGEST_BODY = 4000;
const PREFIX = 'channel:';

const limit = z.coerce.number().int().min(1).max(1000).default(200);
const text = z.string().max(1000);
const dueAt = z.coerce.number<string>().int();
/** Where a page of reminders ended. */
const place = z.object({ dueAt, subscriber: text, resource: text, name: text });
const membersOf = (query: string) => Object.fromEntries(new URLSearchParams(query));

/** `webhook_id` is as the requests claimed it; empty where they named none. `in_a_row`: since something of the webhook was last accepted. */
export function refusalJson({ rowSince: _, ...one }: Refusals) {
  return { ...jsonOf(one), advice: adviceOnRefused(one.reason, one) };
}

/** The routes of lists beside that of events. `next` is the `after` or `before` of the next page; `more` counts further groups. */
export const LISTS: readonly Endpoint[] = [
  endpoint('get', '/channels', {
    summary: 'Live channels with their state by their newest event, the latest change first.',
    input: z.object({
      state: z.enum(['active', 'idle']).optional(),
      after: z.string().max(200).optional().describe('a channel_id'),
      limit,
    }),
    run: async ({ store }, { after, ...page }) => {
      const found = await store.reports.channels({ ...page, after: after && `${PREFIX}${after}` });
      const channels = found.channels.map(({ resource, siteId, since, event, state }) => ({
        channel_id: resource.slice(PREFIX.length),
        site_id: siteId,
        state,
        since: isoOrNull(since || undefined),
        event,
      }));
      const next = channels.length < page.limit ? null : (channels.at(-1)?.channel_id ?? null);
      return { counts: found.counts, channels, next };
    },
  }),
  endpoint('get', '/reminders', {
    summary: 'Reminders that are set for media and channels, the next one due first.',
    input: z.object({
      after: text.transform(membersOf).pipe(place).optional().describe('the `next` of an answer'),
      limit,
    }),
    run: async ({ store }, page) => {
      const found = await store.queue.reminders(page);
      const last = found.length < page.limit ? undefined : found.at(-1);
      const next = last ? `${new URLSearchParams({ ...place.parse(last), dueAt: `${last.dueAt}` })}` : null;
      return { reminders: found.map(reminderJson), next };
    },
  }),
  // `error` is a first line in which * stands for what differs, and a filter of that name. Of those that wait, `next_at` is when the next one
  // is tried again, and `failing_since` when the oldest failed first.
  endpoint('get', '/problems', {
    summary: 'Dead events, and events that wait after a failure, in groups: of each the newest 10,000.',
    run: async ({ store }) => {
      const { told, more } = firstOf(await store.queue.problems());
      const json = ({ failedSince, ...one }: Problem) => ({
        ...jsonOf(one),
        failing_since: isoOrNull(failedSince),
      });
      return { problems: told.map(json), more };
    },
  }),
  endpoint('get', '/refusals', {
    summary:
      'Refused requests of all processes by reason, webhook and network; in_a_row: how many since one was accepted.',
    run: async ({ watch, store }) => {
      await watch.report();
      const { told, more } = firstOf(await store.reports.refusals());
      return { refusals: told.map(refusalJson), more };
    },
  }),
  // `path` is a JSON Pointer of the first member that differs from the claims.
  endpoint('get', '/rejections', {
    summary: 'The last 200 requests that this process refused, with the reasons, newest first.',
    run: async ({ watch }) => ({
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
    }),
  }),
  endpoint('get', '/quarantine', {
    summary: 'The notifications in quarantine, which no known secret verifies.',
    run: async ({ store }) => {
      const { total, webhooks, newest } = await store.quarantine.summary({ newest: NEWEST_QUARANTINED });
      const shown = newest.map((entry) => ({ ...unprovenJson(entry), body: cut(entry.body, LONGEST_BODY) }));
      return { total, webhooks: webhooks.map(jsonOf), newest: shown };
    },
  }),
  endpoint('get', '/audit', {
    summary: 'Changes of a year and who made them, newest first; `changed` is null until a change has ended.',
    input: z.object({ before: z.coerce.number().int().optional().describe('a seq'), limit }),
    run: async ({ store }, page) => {
      const found = await store.reports.changes(page);
      const next = found.length < page.limit ? null : (found.at(-1)?.seq ?? null);
      const json = (one: Change) => ({ ...jsonOf(one), at: iso(one.at), filters: JSON.parse(one.filters) });
      return { changes: found.map(json), next };
    },
  }),
];

const firstOf = <T>(groups: readonly T[]) => ({
  told: groups.slice(0, MOST_GROUPS),
  more: Math.max(0, groups.length - MOST_GROUPS),
});
