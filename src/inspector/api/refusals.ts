import { z } from 'zod';
import { cut } from '../../base/text.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import type { Refusals } from '../../store/event-store.ts';
import { iso, unprovenJson } from '../../store/lists/event-json.ts';
import { Refused } from '../guard/refuse.ts';
import { adviceFor } from '../watch/request-results.ts';
import { flag, type Inspected } from './endpoint.ts';
import { filterShape } from './events.ts';
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

export const admitInput = z.object({ webhook: filterShape.webhook });

/** Admits from quarantine what a secret that is known now verifies. */
export async function admit({ store, config }: Inspected, { webhook }: z.output<typeof admitInput>) {
  const admitted = await admitWaiting(store, config, webhook);
  return { admitted, kept: await store.quarantineSize(webhook) };
}

export const dropInput = z.object({
  webhook: filterShape.webhook,
  before: filterShape.since.describe('only those that came before this time'),
  all: flag.describe('must be true if neither is given'),
});

/** Drops notifications from quarantine, for good. @throws Refused if this would be all of them, and nobody said so */
export async function drop({ store }: Inspected, { webhook, before, all }: z.output<typeof dropInput>) {
  if (webhook === undefined && before === undefined && !all)
    throw new Refused(400, 'say which notifications: webhook or before, or all: true');
  return { dropped: await store.dropQuarantined(before ?? Number.MAX_SAFE_INTEGER, webhook) };
}
