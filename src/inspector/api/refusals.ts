import { cut } from '../../base/text.ts';
import type { Refusals } from '../../store/event-store.ts';
import { iso, unprovenJson } from '../../store/lists/event-json.ts';
import { adviceFor } from '../watch/request-results.ts';
import type { Inspected } from './endpoint.ts';
import { MOST_GROUPS } from './reports.ts';

/** Refused requests of all processes by reason, webhook and network: the last ones first. `more` counts further groups. */
export async function refusals({ watch, store }: Inspected) {
  await watch.report();
  const found = await store.refusals();
  return {
    refusals: found.slice(0, MOST_GROUPS).map(refusalJson),
    more: Math.max(0, found.length - MOST_GROUPS),
  };
}

/** `webhook_id` is as the requests claimed it; empty where they named none. */
export function refusalJson({ reason, webhookId, network, firstAt, lastAt, count }: Refusals) {
  const advice = adviceFor(reason, { webhookId });
  const times = { first_at: iso(firstAt), last_at: iso(lastAt) };
  return { reason, webhook_id: webhookId, network, ...times, count, advice };
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
      advice: adviceFor(result, answer),
    })),
  };
}

const NEWEST_QUARANTINED = 100;
/** Enough of a body that nobody has verified: of a hundred whole ones, a page could have many megabytes. */
const LONGEST_BODY = 4000;

export async function quarantine({ store }: Inspected) {
  const { total, webhooks, newest } = await store.quarantineSummary(NEWEST_QUARANTINED);
  return {
    total,
    webhooks: webhooks.map(({ webhookId, notifications, firstAt, lastAt }) => ({
      webhook_id: webhookId,
      notifications,
      first_at: iso(firstAt),
      last_at: iso(lastAt),
    })),
    newest: newest.map((entry) => {
      const { id: _, ...json } = unprovenJson(entry);
      return { ...json, body: cut(entry.body, LONGEST_BODY) };
    }),
  };
}
