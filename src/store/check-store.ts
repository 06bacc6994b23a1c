import { type Finding, findingsOf } from '../base/finding.ts';
import type { EventStore } from './event-store.ts';

/** The webhooks whose notifications can be verified here. */
export type Verifiable = Pick<ReadonlySet<string>, 'has'>;

/**
 * The checks that need an open store: the secrets, and the events that wait.
 * @returns the webhooks whose notifications can be verified: those with a live secret, and those that WEBHOOK_SECRET serves
 */
export async function* checkStore(
  store: EventStore,
  { WEBHOOK_SECRET: fallback }: { readonly WEBHOOK_SECRET?: string | undefined },
): AsyncGenerator<Finding, Verifiable> {
  const live = new Set((await store.secrets()).map(({ webhookId }) => webhookId));
  const own = new Set((await store.everySecret()).map(({ webhookId }) => webhookId));
  yield secretsOf(live.size, fallback !== undefined);
  yield await backlogOf(store);
  return { has: (webhookId) => live.has(webhookId) || (fallback !== undefined && !own.has(webhookId)) };
}

function secretsOf(count: number, hasFallback: boolean): Finding {
  const { ok, fail } = findingsOf('secrets');
  const fallback = hasFallback ? ', and WEBHOOK_SECRET for those that never had one' : '';
  if (count > 0 || hasFallback)
    return ok(`they open with the key; webhooks with a secret: ${count}${fallback}`);
  return fail(
    'none is stored, so the receiver refuses everything: run npx hookkit webhooks create, or webhooks import',
  );
}

async function backlogOf(store: EventStore): Promise<Finding> {
  const { ok, warn } = findingsOf('events');
  const { pending, running, dead, quarantined } = await store.overview();
  const text = `${pending} pending, ${running} running, ${dead} dead, ${quarantined} in quarantine`;
  if (dead) return warn(`${text}: docs/replay.md says what to do with dead events`);
  return quarantined > 0 ? warn(`${text}: npx hookkit quarantine list shows for which webhooks`) : ok(text);
}
