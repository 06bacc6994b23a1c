import { z } from 'zod';
import { jsonOf } from '../base/answer-body.ts';
import { KitError } from '../base/errors.ts';
import { TOLD } from '../notification/kinds.ts';
import { type EventId, isEventId } from '../store/stored.ts';
import { ANSWER_MS, ask, whyRefused } from './listen.ts';
import { UNINTERRUPTED } from './replay-listener.ts';

const text = z.string();
const id = z.custom<EventId>((given) => typeof given === 'string' && isEventId(given));

const json = z.unknown().transform((value) => JSON.stringify(value));
const given = <T>(value: T | null | undefined) => value ?? undefined;

/** What of an event's JSON its handler gets, as that takes it: as GET /api/events/ID answers. */
const eventSchema = z
  .object({ id, subscriber: text, kind: text, resource: text, site_id: text, webhook_id: text })
  .extend({ origin: z.literal([...TOLD, 'reminder', 'schedule']), repeats: id.nullish().transform(given) })
  .extend({ request: text.nullish().transform(given), body: text.nullable() })
  .extend({ received_at: text.transform(Date.parse), steps: z.array(z.object({ name: text, result: json })) })
  .extend({ reminders: z.array(z.object({ name: text }).transform(({ name }) => name)) })
  .extend({
    state: z
      .record(text, json)
      .transform((values) => Object.entries(values).map(([name, value]) => ({ name, value }))),
  });

/**
 * An event that a receiver elsewhere has stored, with the results of its steps and the state of its media or channel.
 * @param from its admin listener; the path ends with a slash
 * @throws KitError EVENT_UNKNOWN, REPLAY_FAILED
 */
export async function eventElsewhere(event: string, from: URL, token: string | undefined) {
  const url = new URL(`api/events/${encodeURIComponent(event)}`, from);
  const answer = await ask(url, { token, signal: UNINTERRUPTED, timeoutMs: ANSWER_MS });
  if (typeof answer === 'string')
    throw new KitError('REPLAY_FAILED', `no connection to ${from.href}: ${answer}`);
  const { data } = eventSchema.safeParse(answer.status === 200 ? jsonOf(answer.body) : undefined);
  if (!data) throw new KitError('REPLAY_FAILED', `${from.href}: ${whyRefused(answer)}`);
  const { body, site_id: siteId, webhook_id: webhookId, received_at: receivedAt, ...facts } = data;
  if (body === null) throw new KitError('EVENT_UNKNOWN', `the body of event ${event} was removed there`);
  return { ...facts, body, siteId, webhookId, receivedAt, seq: 0 };
}
