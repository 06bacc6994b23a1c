import type { Logger } from 'pino';
import { type JsonObject, parseJsonText } from '../notification/json.ts';
import { parsePayload } from '../notification/payload.ts';
import { inspectToken, verifyNotification } from '../notification/token.ts';
import type { EventStore } from '../store/event-store.ts';
import type { Keyring } from './keyring.ts';

/** Whether a refused notification may be genuine after all, once the right secret is known. */
export function deservesQuarantine(token: string, body: JsonObject): boolean {
  return inspectToken(token, body) === undefined && parsePayload(body).type === 'known';
}

interface Admission {
  readonly store: Pick<EventStore, 'hasQuarantined' | 'quarantined' | 'admit'>;
  readonly keyring: Pick<Keyring, 'keysFor'>;
  readonly log: Pick<Logger, 'info'>;
  /** only what names this webhook */
  readonly webhookId?: string | undefined;
}

/**
 * Verifies again what waits in quarantine, and records what the secrets known now explain.
 * @returns how many were admitted; what another process admits at the same time counts there
 */
export async function admitQuarantined({ store, keyring, log, webhookId }: Admission): Promise<number> {
  let admitted = 0;
  if (!(await store.hasQuarantined())) return admitted;
  for (const { token, webhookId: sender, body } of await store.quarantined(webhookId)) {
    if (verifyNotification(token, parseJsonText(body), keyring.keysFor(sender))) continue;
    if (await store.admit(token)) admitted++;
  }
  if (admitted > 0) log.info({ admitted }, 'notifications admitted from quarantine');
  return admitted;
}
