import { createHmac } from 'node:crypto';
import {
  defineHandlers,
  fail,
  type HandlerContext,
  type Handlers,
  kindNames,
  type Outcome,
  retry,
} from '../index.ts';
import { httpUrlOf, retryAfterOf } from '../provider/index.ts';

// Every notification goes on to another system of yours, signed by Standard Webhooks (https://www.standardwebhooks.com), which has
// libraries that verify it in most languages. `webhook-id` is the event's id: the same at every attempt and replay, so that the
// other system can leave out what it has.

export interface ForwardOptions {
  /** https://..., or http:// within your own network */
  readonly url: string;
  /** `whsec_` and 24 to 64 bytes in base64, as the other system has it */
  readonly secret: string;
}

const PREFIX = 'whsec_';
const LONGEST_AFTER_MS = 30 * 86_400_000;

/**
 * Handlers that post each notification to a URL. 2xx is an end; 408, 429 and 5xx are tried again, after what Retry-After says;
 * any other answer, a redirect too, is a mistake that no retry can correct.
 * @throws TypeError on a URL or secret that cannot be used; it shows neither
 */
export function forward({ url, secret }: ForwardOptions): Handlers {
  const key = keyBytesOf(secret);
  if (!httpUrlOf(url))
    throw new TypeError('url must be an http or https URL without a user name and password');
  const send = async (event: object, ctx: HandlerContext): Promise<Outcome | undefined> => {
    const body = JSON.stringify(event);
    const timestamp = String(Math.floor(ctx.now() / 1000));
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'webhook-id': ctx.id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signatureOf(`${ctx.id}.${timestamp}.${body}`, key)}`,
      },
      body,
      // Only `url` may have what is signed; and where a redirect leads to may be a secret, too.
      redirect: 'manual',
      signal: ctx.signal,
    });
    await answer.body?.cancel();
    const { status } = answer;
    if (answer.ok) return undefined;
    const reason = `the other system answered ${status}`;
    if (status !== 408 && status !== 429 && status < 500) return fail(reason);
    const after = Math.min(retryAfterOf(answer.headers.get('retry-after'), ctx.now()) ?? 0, LONGEST_AFTER_MS);
    return retry(after < 1000 ? { reason } : { reason, after }); // a second is the least that may be asked for
  };
  return defineHandlers({ ...Object.fromEntries(kindNames.map((kind) => [kind, send])), unknown: send });
}

/** @param content `ID.TIMESTAMP.BODY` */
export function signatureOf(content: string, key: Buffer): string {
  return createHmac('sha256', key).update(content).digest('base64');
}

/** @throws TypeError on anything but a secret of Standard Webhooks */
export function keyBytesOf(secret: string): Buffer {
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '', 'base64');
  if (key.length < 24 || key.length > 64)
    throw new TypeError('secret must be whsec_ and 24 to 64 bytes in base64');
  return key;
}
