import type { Logger } from 'pino';
import { checkNode } from './base/check-node.ts';
import { systemClock } from './base/clock.ts';
import { sqlitePathOf } from './base/database-url.ts';
import { messageOf } from './base/errors.ts';
import { type Finding, findingsOf } from './base/finding.ts';
import { type Config, loadConfig, misspeltInFile, settingsSource } from './config.ts';
import { checkApp } from './dispatch/checks/check-app.ts';
import { checkClock } from './provider/check-clock.ts';
import { checkProvider } from './provider/check-provider.ts';
import { checkUrls } from './receiver/check-urls.ts';
import { checkBackups } from './store/check-files.ts';
import { checkStore, guessable, type Verifiable } from './store/check-store.ts';
import { checkDatabase, checkKey, openStore } from './store/open.ts';
import { predictable } from './store/predictable-secrets.ts';

interface Examination {
  /** whether to skip the checks that need the network */
  readonly isOffline: boolean;
  /** checked in addition to the URLs of the registered webhooks */
  readonly urls: readonly string[];
  /** the log for handlers that take long to load */
  readonly logOf: (config: Config) => Pick<Logger, 'warn'>;
}

/** Runs all checks of an installation, one after another. A problem is a finding, never an error. */
export async function* examine(examination: Examination): AsyncGenerator<Finding, void, undefined> {
  yield checkNode(process.versions.node);
  const configuration = findingsOf('configuration');
  let config: Config;
  try {
    config = loadConfig();
  } catch (error) {
    yield configuration.fail(messageOf(error));
    return yield findingsOf('everything else').skipped('it needs a configuration without mistakes');
  }
  yield configuration.ok(`no mistakes in ${settingsSource()}`);
  const { loaded, findings } = await checkApp(config, examination.logOf(config));
  for (const { name, meant } of misspeltInFile(Object.keys(loaded?.settings?.shape ?? {})))
    yield configuration.warn(`${name} is set, and nobody reads it: is ${meant} meant?`);
  yield* findings;
  const found: Finding[] = [];
  const webhooks = yield* keeping(examineStore(config), found);
  const path = sqlitePathOf(config.DATABASE_URL);
  if (path !== undefined) yield* checkBackups(path, found);
  yield* examineNetwork(config, examination, webhooks);
}

/** Passes findings on, and keeps them. */
async function* keeping<R>(
  findings: AsyncGenerator<Finding, R, undefined>,
  kept: Finding[],
): AsyncGenerator<Finding, R, undefined> {
  for (;;) {
    const step = await findings.next();
    if (step.done) return step.value;
    kept.push(step.value);
    yield step.value;
  }
}

/** @returns the webhooks whose notifications can be verified; undefined if that is not known */
async function* examineStore(config: Config): AsyncGenerator<Finding, Verifiable | undefined> {
  const { DATABASE_URL: url, DATABASE_POOL: connections, SECRETS_KEY: secretsKey } = config;
  const options = { url, clock: systemClock, secretsKey, connections, threads: false };
  if (!(yield* checkDatabase(options))) {
    const wrong = [guessable(predictable([], config)), checkKey(options)].filter((one) => one !== undefined);
    yield* wrong.length > 0 ? wrong : [findingsOf('secrets').skipped('it needs the database')];
    return undefined;
  }
  try {
    const store = await openStore(options);
    try {
      return yield* checkStore(store, config);
    } finally {
      await store.close();
    }
  } catch (error) {
    // What else a database may suffer from was found above.
    yield findingsOf('secrets').fail(messageOf(error));
    return undefined;
  }
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
  const { finding, webhooks } = await checkProvider({
    baseUrl: config.PROVIDER_BASE_URL,
    apiSecret: config.PROVIDER_API_SECRET,
  });
  yield finding;
  const registered = webhooks?.map(({ id, metadata }) => ({ id, url: metadata.webhook_url }));
  yield* checkUrls({ webhooks: registered, verifiable, urls });
}
