import { z } from 'zod';
import { jsonOf } from '../../base/answer-body.ts';
import { wholeSeconds } from '../../base/duration.ts';
import { KINDS, type Kind, kindNames } from '../../notification/kinds.ts';
import { webhookOf } from '../../replay/compose.ts';
import { refusalReasonOf, storedKeys, wordOf } from '../../replay/receiver-client.ts';
import { sendNotification } from '../../replay/send-one.ts';
import { inputOf } from '../api/endpoint.ts';
import { RefusedError } from '../guard/refuse.ts';
import type { Page } from './render.ts';

/** The site of the mock provider that `dev` has beside it. */
const SITE = 'devSite1';

const input = z.object({ kind: z.enum(kindNames).default('media_available'), body: z.string().optional() });

/** A payload of a kind to change, or the answer of the public listener to one that was posted here: it is signed as the provider does. */
export const sendPage: Page = async ({ store, config, clock, port }, req) => {
  const to = new URL(`http://127.0.0.1:${port}${config.WEBHOOK_PATH}`);
  const { kind, body: given } = inputOf(input, req);
  const now = clock.now();
  const keys = storedKeys(await store.secrets.all(), { fallback: config.WEBHOOK_SECRET, now });
  const usual = keys.webhooks.at(-1) ?? 'webhook1';
  const text = given?.replaceAll('\r\n', '\n') ?? sampleOf(kind, usual, now); // forms send CRLF
  const shown = { to, kind, kindNames, text };
  if (req.method !== 'POST') return shown;
  const body = Buffer.from(text);
  // The receiver refuses a payload that names no webhook of ours, whatever signs it.
  const key = keys.keyFor(webhookOf(body) ?? usual) ?? keys.keyFor(usual);
  if (!key) throw new RefusedError(409, 'no live secret is stored, and WEBHOOK_SECRET is not set');
  const { answer } = await sendNotification(body, { to, key, bodyLimit: config.BODY_LIMIT });
  const { id } = Object(answer.status === 200 ? jsonOf(answer.body) : undefined);
  return { ...shown, answer: { id, word: wordOf(answer), reason: refusalReasonOf(answer) } };
};

function sampleOf(kind: Kind, webhook_id: string, now: number): string {
  const ids = KINDS[kind].ids.map((name) => [name, name.replace('_id', '001')]);
  const members = { event: kind, ...Object.fromEntries(ids), webhook_id, site_id: SITE };
  return JSON.stringify({ ...members, event_time: wholeSeconds(now) }, null, 2);
}
