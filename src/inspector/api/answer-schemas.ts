import { z } from 'zod';
import { STATUSES } from '../../store/stored.ts';
import { results } from '../watch/request-results.ts';

const time = z.iso.datetime();
const number = z.number();
const count = z.int().min(0);

export const eventAnswer = z.object({
  id: z.string(),
  kind: z.string(),
  resource: z.string(),
  site_id: z.string(),
  webhook_id: z.string(),
  event_time: time.nullable(),
  received_at: time,
  deliveries: count,
  last_delivery_at: time,
  status: z.enum(STATUSES),
  starts: count.describe('how often a handler began since the event was recorded or last replayed'),
  attempts: count.describe(
    'starts that count against RETRY_MAX_ATTEMPTS: failures and crashes, not stops and requests to come back',
  ),
  replays: count,
  next_attempt_at: time.nullable(),
  handled_at: time.nullable(),
  last_error: z.string().nullable(),
  body: z.string().nullable().describe('as received; null once retention removed it'),
});

export const attemptAnswer = z.object({
  replay: count,
  attempt: count.describe('the number of the start'),
  started_at: time,
  duration_ms: number,
  outcome: z.enum(['handled', 'skipped', 'failed', 'retry', 'error', 'timeout', 'interrupted', 'lost']),
  error: z.string().nullable(),
  instance: z.string().describe('the process that ran it (INSTANCE_NAME)'),
});

export const eventsAnswer = z.object({
  events: z.array(eventAnswer),
  next: z
    .string()
    .nullable()
    .describe(
      'the `before` of the next page; null at the end. A search that finds less than `limit` events may not have ' +
        'looked at all events yet',
    ),
});

export const eventDetailAnswer = eventAnswer.extend({
  digest: z.string().nullable().describe('null once retention removed the body'),
  late: z.boolean().describe('a newer event of the same resource was handled before this one first ran'),
  history: z.array(attemptAnswer),
  running: z
    .object({
      started_at: time,
      lease_until: time.describe(
        'from when on another process may take it over; moved on while its process lives',
      ),
      instance: z.string().describe('the process that runs it (INSTANCE_NAME)'),
    })
    .nullable()
    .describe('the start that has not ended; it has no attempt in `history` yet'),
  steps: z.array(z.object({ name: z.string(), result: z.unknown() })),
  state: z
    .record(z.string(), z.unknown())
    .describe('the state of its media or channel now (ctx.state), by name'),
  timeline: z.array(
    z.object({ id: z.string(), kind: z.string(), event_time: time.nullable(), status: z.enum(STATUSES) }),
  ),
});

export const replayedAnswer = z.object({ replayed: count, id: z.string() });

export const bulkReplayAnswer = z.object({
  dry_run: z.boolean(),
  events: count.describe('how many events were reset, or would be'),
  next: z.string().nullable().describe('the `before` with which to go on counting; null if all were counted'),
  replay: z
    .string()
    .optional()
    .describe('present while the replay is under way: the same request with it says how far it is'),
});

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

export const rejectionsAnswer = z.object({
  rejections: z.array(
    z.object({
      at: time,
      status: z.int(),
      result: z.enum(results),
      reason: z.string(),
      path: z.string().nullable().describe('JSON Pointer of the first member that differs from the claims'),
      kind: z.string(),
      webhook_id: z.string(),
      source: z.string(),
      advice: z.string(),
    }),
  ),
});

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

const secretAnswer = z.object({ created_at: time, retires_at: time.nullable() });

export const webhooksAnswer = z.object({
  webhooks: z.array(z.object({ webhook_id: z.string(), secrets: z.array(secretAnswer) })),
  fallback: z
    .boolean()
    .describe('WEBHOOK_SECRET is set: it serves every webhook that never had a stored secret'),
});

const quantiles = z.object({ p50: number.nullable(), p99: number.nullable() });
const values = z.array(number);
const gaps = z.array(number.nullable());

export const statsAnswer = z.object({
  instance: z.string().describe('the name of this process (INSTANCE_NAME)'),
  started_at: time,
  events: z
    .object({ pending: count, running: count, dead: count })
    .describe('`pending` counts those that wait for a retry, too'),
  oldest_pending_at: time.nullable(),
  last_recorded_at: time
    .nullable()
    .describe('when the newest event came in: to any process, or from quarantine, if its secret came later'),
  quarantined: count,
  can_record: z.boolean().describe('whether the store could commit just now'),
  can_read_secrets: z
    .boolean()
    .describe('false: the stored secrets were sealed under another key than this process has'),
  last_10_minutes: z.object({
    accepted: count,
    duplicate: count,
    rejected: count.describe('refused requests, without 503 and 500'),
    refusals_are_over: z
      .boolean()
      .describe('whether a secret was stored since for the webhook of each refused request'),
    not_recorded: count.describe('answered 503 or 500'),
    refused_webhooks: z
      .array(
        z.object({
          webhook_id: z.string(),
          refused: count.describe('since its last accepted notification, and since its secret was stored'),
          last_refused_at: time,
          last_accepted_at: time.nullable().describe('in this process'),
        }),
      )
      .describe(
        'known webhooks whose requests were all refused, by each process, and of which none was admitted',
      ),
    handled: count,
    failed: count,
    ack_ms: quantiles,
    handler_ms: quantiles,
    commit_ms: quantiles,
  }),
  last_hour: z
    .object({
      times: values.describe('seconds since the epoch, ten seconds apart'),
      accepted: values.describe('a second'),
      duplicate: values,
      rejected: values,
      not_recorded: values,
      handled: values,
      failed: values,
      ack_p50: gaps.describe('milliseconds'),
      ack_p99: gaps,
      handler_p50: gaps,
      handler_p99: gaps,
    })
    .describe('of this process since it started'),
});

export const errorAnswer = z.object({ error: z.string() });
