import { z } from 'zod';
import { cut } from '../../base/text.ts';
import { iso, isoOrNull, unprovenJson } from '../../store/lists/event-json.ts';
import { adviceFor, rejectionResults } from '../watch/request-results.ts';
import type { Inspected } from './endpoint.ts';

const time = z.iso.datetime();
const count = z.int().min(0);

export const channelsAnswer = z.object({
  counts: z.object({ active: count, idle: count }),
  channels: z.array(
    z.object({
      channel_id: z.string(),
      site_id: z.string(),
      state: z.enum(['active', 'idle']),
      since: time.nullable(),
      event: z.string(),
    }),
  ),
  next: z.string().nullable().describe('the `after` of the next page; null at the end'),
});

export const channelsQuery = z.object({
  state: z.enum(['active', 'idle']).optional(),
  after: z.string().max(200).optional().describe('a channel_id'),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});

const PREFIX = 'channel:';

export async function channels(
  { store }: Inspected,
  { state, after, limit }: z.output<typeof channelsQuery>,
): Promise<z.input<typeof channelsAnswer>> {
  const found = await store.channels({ state, after: after && `${PREFIX}${after}`, limit });
  const list = found.channels.map(({ resource, siteId, since, event, state: now }) => ({
    channel_id: resource.slice(PREFIX.length),
    site_id: siteId,
    state: now,
    since: since === 0 ? null : iso(since),
    event,
  }));
  const next = list.length < limit ? null : (list.at(-1)?.channel_id ?? null);
  return { counts: found.counts, channels: list, next };
}

export const rejectionsAnswer = z.object({
  rejections: z.array(
    z.object({
      at: time,
      status: z.int(),
      result: z.enum(rejectionResults),
      reason: z.string(),
      path: z.string().nullable().describe('JSON Pointer of the first member that differs from the claims'),
      kind: z.string(),
      webhook_id: z.string(),
      source: z.string(),
      advice: z.string(),
    }),
  ),
});

export async function rejections({ watch }: Inspected): Promise<z.input<typeof rejectionsAnswer>> {
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

export const quarantineAnswer = z.object({
  total: count,
  webhooks: z.array(
    z.object({ webhook_id: z.string(), notifications: count, first_at: time, last_at: time }),
  ),
  newest: z.array(
    z.object({
      webhook_id: z.string(),
      kind: z.string(),
      site_id: z.string(),
      resource: z.string(),
      event_time: time.nullable(),
      received_at: time,
      deliveries: count.describe('how often it came, with the same token'),
      source: z.string(),
      body: z.string().describe('its first 4,000 characters'),
    }),
  ),
});

const NEWEST_QUARANTINED = 100;
/** Enough of a body that nobody has verified: of a hundred whole ones, a page could have many megabytes. */
const LONGEST_BODY = 4000;

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
    newest: newest.map((entry) => {
      const { id: _, ...json } = unprovenJson(entry);
      return { ...json, body: cut(entry.body, LONGEST_BODY) };
    }),
  };
}

export const webhooksAnswer = z.object({
  webhooks: z.array(
    z.object({
      webhook_id: z.string(),
      secrets: z.array(z.object({ created_at: time, retires_at: time.nullable() })),
    }),
  ),
  fallback: z
    .boolean()
    .describe('WEBHOOK_SECRET is set: it serves every webhook that never had a stored secret'),
});

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
