import { checkNode } from '../../base/check-node.ts';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { type Config, loadConfig, settingsSource } from '../../config.ts';
import { checkClock } from '../../provider/check-clock.ts';
import { checkProvider } from '../../provider/check-provider.ts';
import { checkUrls } from '../../receiver/check-urls.ts';
import { checkDatabase } from '../../store/check-database.ts';
import { checkDisk } from '../../store/check-disk.ts';
import { checkKeyFile } from '../../store/check-key-file.ts';
import { checkStore, guessable, type Verifiable } from '../../store/check-store.ts';
import { openStore } from '../../store/open.ts';
import { predictable } from '../../store/predictable-secrets.ts';

export interface Examination {
  /** whether to leave out what needs the network */
  readonly isOffline: boolean;
  /** to be reached, beside those of the registered webhooks */
  readonly urls: readonly string[];
}

const SQLITE = 'sqlite:';

/** Checks everything, one after another. Whatever is wrong is a finding; nothing is thrown. */
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
  const webhooks = yield* examineStore(config);
  yield* examineNetwork(config, examination, webhooks);
}

/** @returns the webhooks whose notifications can be verified; undefined where that cannot be told */
async function* examineStore(config: Config): AsyncGenerator<Finding, Verifiable | undefined> {
  if (config.DATABASE_URL.startsWith(SQLITE)) {
    const path = config.DATABASE_URL.slice(SQLITE.length);
    yield checkDisk(path);
    const database = checkDatabase(path);
    yield database.finding;
    yield checkKeyFile(`${path}.key`, config);
    if (!database.isUsable) {
      yield guessable(predictable([], config)) ?? findingsOf('secrets').skipped('it needs the database');
      return undefined;
    }
  }
  try {
    const { DATABASE_URL: url, SECRETS_KEY: secretsKey } = config;
    const store = await openStore({ url, clock: systemClock, secretsKey });
    try {
      return yield* checkStore(store, config);
    } finally {
      await store.close();
    }
  } catch (error) {
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
  const { finding, webhooks } = await checkProvider(config);
  yield finding;
  yield* checkUrls({ webhooks, verifiable, urls });
}
