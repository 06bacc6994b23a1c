import type { Config } from '../../config.ts';
import type { EventStore } from '../../store/event-store.ts';
import { settingsOf } from '../../store/examine-store.ts';
import { PREDICTABLE_ADVICE, predictable } from '../predictable-secrets.ts';
import { type Finding, findingsOf } from './finding.ts';

const FULL = 2;

/** The webhooks whose notifications can be verified here. */
export type Verifiable = Pick<ReadonlySet<string>, 'has'>;

/**
 * What only an open store tells: whether commits are durable, the secrets, what waits.
 * @returns the webhooks whose notifications can be verified: every one, where WEBHOOK_SECRET stands in
 */
export async function* checkStore(store: EventStore, config: Config): AsyncGenerator<Finding, Verifiable> {
  yield await durability(store);
  const stored = await store.secrets();
  const unreadable = await store.unreadableSecrets();
  const live = new Set(stored.map(({ webhookId }) => webhookId));
  const weak = guessable(predictable(stored, config));
  if (weak) yield weak;
  if (!weak || unreadable.length > 0)
    yield secrets(live.size, config.WEBHOOK_SECRET !== undefined, unreadable);
  yield await backlog(store);
  return config.WEBHOOK_SECRET === undefined ? live : { has: () => true };
}

async function durability(store: EventStore): Promise<Finding> {
  const { ok, fail, skipped } = findingsOf('durability');
  const settings = await settingsOf(store);
  if (settings === undefined) return skipped('only SQLite is asked for its settings');
  const { synchronous, journalMode } = settings;
  const text = `journal_mode ${journalMode}, synchronous ${synchronous}`;
  return synchronous === FULL && journalMode === 'wal'
    ? ok(`${text} (FULL): a commit is on disk when it returns`)
    : fail(`${text}: an acknowledged event can be lost; keep the database on a local disk`);
}

function secrets(count: number, hasFallback: boolean, unreadable: readonly string[]): Finding {
  const { ok, fail } = findingsOf('secrets');
  if (unreadable.length > 0) {
    return fail(
      `a secret of ${unreadable.join(', ')} does not open, as its row was changed: npx hookkit webhooks import --replace, or restore a backup`,
    );
  }
  const fallback = hasFallback ? ', and WEBHOOK_SECRET for all others' : '';
  if (count > 0 || hasFallback)
    return ok(`they open with the key; webhooks with a secret: ${count}${fallback}`);
  return fail('none is stored, so everything is refused: npx hookkit webhooks create, or webhooks import');
}

/** Fails where anybody can compute a secret. */
export function guessable(found: readonly string[]): Finding | undefined {
  if (found.length === 0) return undefined;
  return findingsOf('secrets').fail(
    `the secret of ${found.join(', ')} protects nothing: ${PREDICTABLE_ADVICE}`,
  );
}

async function backlog(store: EventStore): Promise<Finding> {
  const { ok, warn } = findingsOf('events');
  const [pending, running, dead] = await Promise.all(
    (['pending', 'running', 'dead'] as const).map((status) => store.count({ status })),
  );
  const waiting = await store.quarantineSize();
  const text = `${pending} pending, ${running} running, ${dead} dead, ${waiting} in quarantine`;
  if (dead) return warn(`${text}: docs/replay.md tells what to do with dead events`);
  return waiting > 0 ? warn(`${text}: npx hookkit quarantine list shows for which webhooks`) : ok(text);
}
