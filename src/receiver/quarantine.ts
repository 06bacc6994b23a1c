import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { type JsonObject, parseJsonText } from '../notification/json.ts';
import { parsePayload } from '../notification/payload.ts';
import { inspectToken, verifyNotification } from '../notification/token.ts';
import type { EventStore, Quarantined } from '../store/event-store.ts';
import type { Keyring } from './keyring.ts';

/** Whether a refused notification may be genuine after all, once the right secret is known. */
export function deservesQuarantine(token: string, body: JsonObject): boolean {
  return inspectToken(token, body) === undefined && parsePayload(body).type === 'known';
}

interface Admission {
  readonly store: Pick<EventStore, 'hasQuarantined' | 'waitingWebhooks' | 'quarantined' | 'admit'>;
  readonly keyring: Pick<Keyring, 'keysFor'>;
  readonly log: Pick<Logger, 'info'>;
  /** only what names these webhooks */
  readonly webhooks?: Iterable<string> | undefined;
}

/**
 * Verifies again what waits in quarantine for webhooks that have a key, a page at a time, and records what the secrets known
 * now explain. Each page is committed: where it ends early, it goes on from there the next time.
 * @returns how many were admitted; what another process admits at the same time counts there
 */
export async function admitQuarantined(admission: Admission): Promise<number> {
  const { store, keyring, log, webhooks = waitingWebhooks(store) } = admission;
  let admitted = 0;
  if (!(await store.hasQuarantined())) return admitted;
  for await (const webhook of webhooks) {
    if (keyring.keysFor(webhook).length === 0) continue;
    let after: number | undefined;
    for (;;) {
      const page = await store.quarantined({ webhook, after });
      if (page.length === 0) break;
      admitted += await admitPage(admission, page);
      after = page.at(-1)?.place;
    }
  }
  if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
  return admitted;
}

/** Requests come through between any two entries: verifying a large one takes a while. */
async function admitPage({ store, keyring }: Admission, page: readonly Quarantined[]): Promise<number> {
  const verified: string[] = [];
  for (const { token, webhookId, body } of page) {
    await setImmediate();
    if (!verifyNotification(token, parseJsonText(body), keyring.keysFor(webhookId), body))
      verified.push(token);
  }
  const recorded = await Promise.all(verified.map((token) => store.admit(token)));
  return recorded.filter((one) => one !== undefined).length;
}

async function* waitingWebhooks(store: Admission['store']): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const webhooks = await store.waitingWebhooks(after);
    if (webhooks.length === 0) return;
    for (const { webhookId } of webhooks) yield webhookId;
    after = webhooks.at(-1)?.webhookId;
  }
}

const MINUTE_MS = 60_000;

/** Says what the quarantine had no room for: the first at once, and from then on once a minute. */
export function lossReporter(clock: Clock, log: Pick<Logger, 'warn'>): (lost: number) => void {
  let sum = 0;
  let isWaiting = false;
  const say = (): void => {
    isWaiting = sum > 0;
    if (!isWaiting) return;
    log.warn({ lost: sum }, 'the quarantine is full; notifications for which no secret is known are lost');
    sum = 0;
    clock.after(MINUTE_MS, say);
  };
  return (lost) => {
    sum += lost;
    if (!isWaiting) say();
  };
}
