import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { repeat } from '../base/repeat.ts';
import type { EventStore } from './event-store.ts';
import { isPredictable } from './predictable-secrets.ts';

export interface SecretsWatch {
  readonly store: Pick<EventStore, 'unreadableSecrets' | 'secrets'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'error'>;
  /** whether other machines reach the service, so that secrets which they can compute count as absent */
  readonly isReachable: boolean;
}

const ROUND_MS = 10_000;
/** How often the same line is logged. */
const AGAIN_MS = 3_600_000;
const MOST_NAMED = 20;
const UNREADABLE = 'a stored secret does not open and counts as absent: its row was changed';
const COMPUTABLE =
  'a stored secret follows from the seed of a mock provider, so that anybody can compute it, and counts as absent: npx hookkit doctor ' +
  'says what to do';
const FAILED = 'cannot read the stored secrets; trying again';

/** Logs which secrets count as absent though they are stored, now and at each change. @returns a function that stops it */
export function watchSecrets({ store, clock, log, isReachable }: SecretsWatch): () => void {
  const lineOf = (message: string) => lineOnChange(message, clock, log);
  const unreadable = lineOf(UNREADABLE);
  const computable = lineOf(COMPUTABLE);
  const failed = lineOf(FAILED);
  const look = async (): Promise<void> => {
    unreadable(named(await store.unreadableSecrets()));
    const stored = isReachable ? await store.secrets() : [];
    const weak = stored.filter(({ secret }) => isPredictable(secret)).map(({ webhookId }) => webhookId);
    computable(named([...new Set(weak)]));
    failed(undefined);
  };
  return repeat(clock, 0, async () => {
    await look().catch((error) => failed({ error: messageOf(error) }));
    return ROUND_MS;
  });
}

function named(webhooks: readonly string[]): object | undefined {
  if (webhooks.length === 0) return undefined;
  return { webhooks: webhooks.slice(0, MOST_NAMED), count: webhooks.length };
}

/** Logs a message at each change of its details, and once an hour while they stay; nothing while there are none. */
function lineOnChange(
  message: string,
  clock: Clock,
  log: SecretsWatch['log'],
): (details: object | undefined) => void {
  let said = '';
  let saidAt = Number.NEGATIVE_INFINITY;
  return (details) => {
    const now = clock.now();
    const saying = details ? JSON.stringify(details) : '';
    if (saying === said && (now - saidAt < AGAIN_MS || !details)) return;
    said = saying;
    saidAt = now;
    if (details) log.error(details, message);
  };
}
