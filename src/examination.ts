import { systemClock } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import { type Finding, findingsOf } from './base/finding.ts';
import { isSeededInPublic } from './base/seeded-random.ts';
import { type Config, loadConfig, misspeltInFile, settingsSource } from './config.ts';
import { checkApp } from './dispatch/load-handlers.ts';
import { checkClock, checkProvider, checkUrls } from './provider/checks.ts';
import { checkStore, type Verifiable } from './store/check-store.ts';
import type { WebhookSecret } from './store/event-store.ts';
import { engineOf, openStore } from './store/open.ts';

interface Examination {
  /** whether to skip the checks that need the network */
  readonly isOffline: boolean;
  /** checked in addition to the URLs of the registered webhooks */
  readonly urls: readonly string[];
}

/** Runs all checks of an installation, one after another. A problem is a finding, never an error. */
export async function* examine(examination: Examination): AsyncGenerator<Finding, void, undefined> {
  yield checkNode();
  const configuration = findingsOf('configuration');
  let config: Config;
  try {
    config = loadConfig();
  } catch (error) {
    yield configuration.fail(messageOf(error));
    return yield findingsOf('everything else').skipped('it needs a configuration without mistakes');
  }
  yield configuration.ok(`no mistakes in ${settingsSource()}`);
  const { loaded, findings } = await checkApp(config);
  for (const { name, meant } of misspeltInFile(Object.keys(loaded?.settings?.shape ?? {})))
    yield configuration.warn(`${name} is set, and nobody reads it: is ${meant} meant?`);
  yield* findings;
  const webhooks = yield* examineStore(config);
  yield* examineNetwork(config, examination, webhooks);
}

function checkNode(): Finding {
  const { ok, warn } = findingsOf('node');
  const { node: version } = process.versions; // 24 at least: an older one gets no further than bin/hookkit.js
  if (Number.parseInt(version, 10) % 2 === 0) return ok(`Node.js ${version}`);
  return warn(`Node.js ${version} is no LTS version and soon gets no more fixes: use an even version`);
}

/** @returns the webhooks whose notifications can be verified; undefined if that is not known */
async function* examineStore(config: Config): AsyncGenerator<Finding, Verifiable | undefined> {
  const { DATABASE_URL: url, DATABASE_POOL: connections, SECRETS_KEY: secretsKey } = config;
  const options = { url, clock: systemClock, secretsKey, connections, threads: false };
  const { check } = await engineOf(url);
  if (!(yield* check(options))) {
    yield findingsOf('secrets').skipped('it needs the database');
    return undefined;
  }
  await using ends = new AsyncDisposableStack();
  try {
    const store = await openStore(options);
    ends.defer(() => store.close());
    yield* refuseSeeded(await store.secrets(), config);
    return yield* checkStore(store, config);
  } catch (error) {
    // What else a database may suffer from was found above.
    yield findingsOf('secrets').fail(messageOf(error));
    return undefined;
  }
}

const PREDICTABLE =
  'begins with mock-, so anybody can compute it, and it verifies nothing here: use another one';

function* refuseSeeded(stored: readonly WebhookSecret[], config: Config) {
  const { WEBHOOK_SECRET: fallback } = config;
  const seeded = stored.filter(({ secret }) => isSeededInPublic(secret, config));
  const whose = new Set(seeded.map(({ webhookId }) => `webhook ${webhookId}`));
  if (fallback !== undefined && isSeededInPublic(fallback, config)) whose.add('WEBHOOK_SECRET');
  if (whose.size > 0)
    yield findingsOf('secrets').fail(`the secret of ${[...whose].join(', ')} ${PREDICTABLE}`);
}

async function* examineNetwork(
  config: Config,
  { isOffline, urls }: Examination,
  verifiable: Verifiable | undefined,
): AsyncGenerator<Finding, void, undefined> {
  if (isOffline) {
    for (const check of ['clock', 'provider', 'url']) yield findingsOf(check).skipped('--offline');
    return;
  }
  yield await checkClock(config.PROVIDER_BASE_URL, systemClock);
  const webhooks = yield* checkProvider(config.PROVIDER_BASE_URL, config.PROVIDER_API_SECRET);
  yield* checkUrls({ webhooks, verifiable, urls });
}
