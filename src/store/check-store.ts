import type { Finding } from '../base/finding.ts';
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
  const hasFallback = fallback !== undefined;
  const others = hasFallback ? ', and WEBHOOK_SECRET for those that never had one' : '';
  yield judged('secrets', `they open with the key; webhooks with a secret: ${live.size}${others}`, [
    [live.size === 0 && !hasFallback, 'FAIL', NO_SECRET],
  ]);
  const { pending, running, dead, quarantined } = await store.overview();
  const seen = `${pending} pending, ${running} running, ${dead} dead, ${quarantined} in quarantine`;
  yield judged('events', seen, [
    [dead > 0, 'warn', 'docs/replay.md says what to do with dead events'],
    [quarantined > 0, 'warn', 'npx hookkit quarantine list shows for which webhooks'],
  ]);
  return { has: (webhookId) => live.has(webhookId) || (fallback !== undefined && !own.has(webhookId)) };
}

const NO_SECRET =
  'the receiver refuses everything: run npx hookkit webhooks create, or webhooks import, to store one';

/** Something that may be wrong, and what to do about it then. */
type Rule = readonly [applies: boolean, result: 'FAIL' | 'warn', advice: string | undefined];

/** What a check of the doctor finds: the first rule that applies decides, and without one all is well. */
export function judged(check: string, seen: string, rules: readonly Rule[]): Finding {
  const [, result, advice] = rules.find(([applies]) => applies) ?? [];
  return result ? { check, result, detail: `${seen}: ${advice}` } : { check, result: 'ok', detail: seen };
}
