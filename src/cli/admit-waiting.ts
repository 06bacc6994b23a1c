import { pino } from 'pino';
import { systemClock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import { Keyring } from '../receiver/keyring.ts';
import { admitQuarantined } from '../receiver/quarantine.ts';
import type { EventStore } from '../store/event-store.ts';

/**
 * Verifies what waits in quarantine with the secrets that are known now, and records what they explain.
 * @param webhookId only what names this webhook
 * @returns how many were admitted
 */
export async function admitWaiting(store: EventStore, config: Config, webhookId?: string): Promise<number> {
  const keyring = new Keyring({ store, clock: systemClock, fallback: config.WEBHOOK_SECRET });
  await keyring.refresh();
  const webhooks = webhookId === undefined ? undefined : [webhookId];
  return admitQuarantined({ store, keyring, log: pino({ level: 'silent' }), webhooks });
}
