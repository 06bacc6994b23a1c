import { Command } from 'commander';
import { checkNode } from '../base/check-node.ts';
import { systemClock } from '../base/clock.ts';
import { KitError, messageOf } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { type Config, loadConfig, settingsSource } from '../config.ts';
import { checkClock } from '../provider/check-clock.ts';
import { checkProvider } from '../provider/check-provider.ts';
import { checkUrls } from '../receiver/check-urls.ts';
import { checkBackups, checkDatabase, checkDisk, checkKeyFile } from '../store/check-files.ts';
import { checkStore, guessable, type Verifiable } from '../store/check-store.ts';
import { openStore } from '../store/open.ts';
import { predictable } from '../store/predictable-secrets.ts';
import { line, print, printJson } from './print.ts';

interface Flags {
  readonly offline?: true;
  readonly url?: readonly string[];
  readonly json?: true;
}

const HELP = `
Each line begins with ok, warn, FAIL or skipped. After a FAIL the exit code is 1. The command changes nothing. Run it as the
user that the server runs as.

Examples:
  npx hookkit doctor
  npx hookkit doctor --offline --json
  npx hookkit doctor --url https://your.host/webhooks/media`;

/** `hookkit doctor`: checks an installation. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check this installation: Node, configuration, database, disk, key, secrets, clock, provider, the URL.',
    )
    .option('--offline', 'skip the checks that need the network')
    .option('--url <url...>', 'check that these URLs reach the receiver too, beside the registered ones')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', HELP)
    .action(doctor);
}

async function doctor({ offline, url: urls = [], json }: Flags): Promise<void> {
  const findings: Finding[] = [];
  for await (const finding of examine({ isOffline: offline === true, urls })) {
    findings.push(finding);
    if (!json) await print(lineOf(finding));
  }
  const failed = findings.filter(({ result }) => result === 'FAIL').length;
  if (json) await printJson({ ok: failed === 0, findings });
  if (failed > 0) throw new KitError('CHECK_FAILED', `${failed} of ${findings.length} checks failed`);
}

function lineOf({ result, check, detail }: Finding): string {
  return line(`${result.padEnd(7)}  ${check.padEnd(13)}  ${detail.replace(/\n\s*/g, ' ')}`);
}

interface Examination {
  /** whether to skip the checks that need the network */
  readonly isOffline: boolean;
  /** checked in addition to the URLs of the registered webhooks */
  readonly urls: readonly string[];
}

const SQLITE = 'sqlite:';

/** Runs all checks, one after another. A problem is a finding, never an error. */
async function* examine(examination: Examination): AsyncGenerator<Finding, void, undefined> {
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
  const found: Finding[] = [];
  const webhooks = yield* keeping(examineStore(config), found);
  if (config.DATABASE_URL.startsWith(SQLITE))
    yield* checkBackups(config.DATABASE_URL.slice(SQLITE.length), found);
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
    const store = await openStore({ url, clock: systemClock, secretsKey, threads: false });
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
  const { finding, webhooks } = await checkProvider({
    baseUrl: config.PROVIDER_BASE_URL,
    apiSecret: config.PROVIDER_API_SECRET,
  });
  yield finding;
  const registered = webhooks?.map(({ id, metadata }) => ({ id, url: metadata.webhook_url }));
  yield* checkUrls({ webhooks: registered, verifiable, urls });
}
