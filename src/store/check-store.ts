import { type Finding, findingsOf } from '../base/finding.ts';
import { EnvironmentSecret } from './environment-secret.ts';
import type { EventStore } from './event-store.ts';
import { adviceOn, predictable } from './predictable-secrets.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';

const FULL = 2;

/** The webhooks whose notifications can be verified here. */
export type Verifiable = Pick<ReadonlySet<string>, 'has'>;

/**
 * The checks that need an open store: the settings of SQLite, the secrets, the events that wait.
 * @returns the webhooks whose notifications can be verified: those with a live secret, and those that WEBHOOK_SECRET serves
 */
export async function* checkStore(
  store: EventStore,
  config: { readonly WEBHOOK_SECRET?: string | undefined },
): AsyncGenerator<Finding, Verifiable> {
  if (store instanceof SqliteStore) yield await durability(store);
  const environment = await EnvironmentSecret.read(store, config);
  const stored = await store.secrets();
  const unreadable = await store.unreadableSecrets();
  const live = new Set(stored.map(({ webhookId }) => webhookId));
  const weak = guessable(predictable(stored, config));
  if (weak) yield weak;
  if (!weak || unreadable.length > 0)
    yield secrets(live.size, config.WEBHOOK_SECRET !== undefined, unreadable);
  yield await backlog(store);
  return { has: (webhookId) => live.has(webhookId) || environment.serves(webhookId) };
}

async function durability(store: SqliteStore): Promise<Finding> {
  const { ok, fail } = findingsOf('durability');
  const { synchronous, journalMode } = await store.settings();
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
  const fallback = hasFallback ? ', and WEBHOOK_SECRET for those that never had one' : '';
  if (count > 0 || hasFallback)
    return ok(`they open with the key; webhooks with a secret: ${count}${fallback}`);
  return fail(
    'none is stored, so the receiver refuses everything: run npx hookkit webhooks create, or webhooks import',
  );
}

/** The finding for predictable secrets; undefined if there are none. */
export function guessable(found: readonly string[]): Finding | undefined {
  if (found.length === 0) return undefined;
  return findingsOf('secrets').fail(`the secret of ${found.join(', ')} protects nothing: ${adviceOn(found)}`);
}

async function backlog(store: EventStore): Promise<Finding> {
  const { ok, warn } = findingsOf('events');
  const [pending, running, dead] = await Promise.all(
    (['pending', 'running', 'dead'] as const).map((status) => store.count({ status })),
  );
  const waiting = await store.quarantineSize();
  const text = `${pending} pending, ${running} running, ${dead} dead, ${waiting} in quarantine`;
  if (dead) return warn(`${text}: docs/replay.md says what to do with dead events`);
  return waiting > 0 ? warn(`${text}: npx hookkit quarantine list shows for which webhooks`) : ok(text);
}
