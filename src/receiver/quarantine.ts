import type { Logger } from 'pino';
import { type JsonObject, parseJsonText } from '../notification/json.ts';
import { parsePayload } from '../notification/payload.ts';
import { inspectToken, verifyNotification } from '../notification/token.ts';
import type { EventStore, VerifiedNotification } from '../store/event-store.ts';
import type { Keyring } from './keyring.ts';

/** Whether a refused notification may be genuine after all, once the right secret is known. */
export function deservesQuarantine(token: string, body: JsonObject): boolean {
  return inspectToken(token, body) === undefined && parsePayload(body).type === 'known';
}

interface Admission {
  readonly store: Pick<EventStore, 'hasQuarantined' | 'quarantined' | 'record' | 'dismiss'>;
  readonly keyring: Pick<Keyring, 'keysFor'>;
  readonly log: Pick<Logger, 'info'>;
  /** only what names this webhook */
  readonly webhookId?: string | undefined;
}

/**
 * Verifies again what waits in quarantine, and records what the secrets known now explain. It is recorded before it is
 * taken out, so that a crash in between repeats it and loses nothing.
 * @returns how many were admitted
 */
export async function admitQuarantined({ store, keyring, log, webhookId }: Admission): Promise<number> {
  let admitted = 0;
  if (!(await store.hasQuarantined())) return admitted;
  for (const { token, source, receivedAt, ...notification } of await store.quarantined(webhookId)) {
    const keys = keyring.keysFor(notification.webhookId);
    if (verifyNotification(token, parseJsonText(notification.body), keys)) continue;
    await store.record(notification satisfies VerifiedNotification, receivedAt);
    await store.dismiss(token);
    admitted++;
  }
  if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
  return admitted;
}
