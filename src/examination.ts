import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from './base/clock.ts';
import { messageOf } from './base/errors.ts';
import { type Finding, findingsOf } from './base/finding.ts';
import { isSeededInPublic } from './base/seeded-random.ts';
import { type Config, connectionsWithin, type GlobalFlags, loadConfig, mostOpenFiles } from './config.ts';
import type { DefinedApp } from './dispatch/handler.ts';
import { loadDefinition, readApp } from './dispatch/load-handlers.ts';
import type { Tell } from './dispatch/process-guard.ts';
import { appsOf, lackingKinds } from './dispatch/subscribers.ts';
import { doubtsOf } from './doubts.ts';
import { kindNames } from './notification/kinds.ts';
import { checkAlert, checkClock, checkProvider, checkUrls } from './provider/checks.ts';
import { PROBE_ANSWERS } from './receiver/verdict.ts';
import { readStandings } from './rotation/webhook-view.ts';
import { judged } from './store/engine.ts';
import type { WebhookSecret } from './store/event-store.ts';
import { engineOf, openStore } from './store/open.ts';

interface Examination {
  /** whether to skip the checks that need the network */
  readonly isOffline: boolean;
  /** whether to post a test message to ALERT_URL */
  readonly isAlertTried: boolean;
  /** checked in addition to the URLs of the registered webhooks */
  readonly urls: readonly string[];
  /** told of handlers whose load takes long */
  readonly tell: Tell;
  readonly flags: GlobalFlags;
}

/** Runs all checks of an installation, one after another. A problem is a finding, never an error. */
export async function* examine(examination: Examination): AsyncGenerator<Finding, void, undefined> {
  const { flags, tell, urls, isOffline, isAlertTried } = examination;
  yield findingsOf('node').ok(`Node.js ${process.versions.node}`); // an older one gets no further than bin/hookkit.js
  const configuration = findingsOf('configuration');
  let config: Config;
  try {
    config = loadConfig(flags);
  } catch (error) {
    yield configuration.fail(messageOf(error));
    return yield findingsOf('everything else').skipped('it needs a configuration without mistakes');
  }
  yield configuration.ok(`no mistakes in ${config.readFrom}`);
  yield checkOpenFiles(config.MAX_CONNECTIONS);
  const loaded = yield* checkApp(config, tell);
  for (const doubt of doubtsOf(flags, loaded)) yield configuration.warn(doubt);
  const verifiable = yield* examineStore(config);
  if (isOffline) {
    for (const check of ['clock', 'provider', 'url']) yield findingsOf(check).skipped('--offline');
  } else {
    yield await checkClock(config.PROVIDER_BASE_URL, systemClock);
    const webhooks = yield* checkProvider(config.PROVIDER_BASE_URL, config.PROVIDER_API_SECRET);
    yield* checkUrls({ webhooks, verifiable, urls, answers: PROBE_ANSWERS });
  }
  yield await checkAlert(config.ALERT_URL, isAlertTried);
}

/** Loads the handlers, and reads the settings of their app: names, never values. @returns undefined if they do not load */
export async function* checkApp(
  config: Pick<Config, 'HANDLERS' | 'readFrom'>,
  tell: Tell,
): AsyncGenerator<Finding, DefinedApp | undefined> {
  let check = findingsOf('handlers');
  let loaded: DefinedApp | undefined;
  try {
    loaded = await loadDefinition(config, tell);
    const { settings } = loaded;
    const kinds = kindNames.length - lackingKinds(loaded).length;
    const names = Object.keys(loaded.subscribers ?? {}).join(', ');
    const reminders = appsOf(loaded).some(({ handlers }) => handlers.reminder) ? ', and reminders' : '';
    const more = names && `; subscribers: ${names}`;
    yield check.ok(`they load; ${kinds} of ${kindNames.length} kinds have a handler${reminders}${more}`);
    check = findingsOf('settings');
    readApp(loaded, config);
    if (settings) yield check.ok(`no mistakes in ${Object.keys(settings.shape).join(', ') || 'them'}`);
  } catch (error) {
    yield check.fail(messageOf(error));
  }
  return loaded;
}

const MOST_ERRORS = 10;

/** Whether types fit, by the TypeScript and the tsconfig.json of the project that the handlers are in. */
export async function checkTypes(file: string, signal?: AbortSignal): Promise<Finding> {
  const { ok, fail, skipped } = findingsOf('types');
  const project = above(dirname(file), 'tsconfig.json');
  const compiler = above(dirname(file), 'node_modules/typescript/bin/tsc');
  if (project === undefined) return skipped(`there is no tsconfig.json at or above ${dirname(file)}`);
  if (compiler === undefined)
    return skipped('TypeScript is not installed: npm install --save-dev typescript');
  const args = [compiler, '--noEmit', '--pretty', 'false', '--project', project];
  try {
    // tsc does not end at other signals.
    await promisify(execFile)(process.execPath, args, { signal, killSignal: 'SIGKILL' });
    return ok(`they fit, says tsc for ${project}`);
  } catch (error) {
    const lines = String(Object(error).stdout).split('\n');
    const errors = lines.filter((line) => /\berror TS\d+/.test(line));
    return fail(['they do not fit:', ...errors.slice(0, MOST_ERRORS)].join('\n  '));
  }
}

/** A file of this name in a folder, or in one above it. */
function above(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  return folder === dirname(folder) ? undefined : above(dirname(folder), name);
}

function checkOpenFiles(wanted: number): Finding {
  const [most, connections] = [mostOpenFiles(), connectionsWithin(wanted)];
  const advice = `so a receiver with this limit takes ${connections} connections, not ${wanted}: raise the limit (ulimit -n, LimitNOFILE)`;
  return judged('open files', `this process may open ${most} files; MAX_CONNECTIONS is ${wanted}`, [
    [connections < wanted, 'warn', advice],
  ]);
}

/** The webhooks whose notifications can be verified here. */
type Verifiable = Pick<ReadonlySet<string>, 'has'>;

/**
 * The checks of the database, and those that need it open: the secrets, and the events that wait.
 * @returns the webhooks whose notifications can be verified: those with a live secret, and those that WEBHOOK_SECRET serves; undefined if
 * that is not known
 */
async function* examineStore(config: Config): AsyncGenerator<Finding, Verifiable | undefined> {
  const { check } = await engineOf(config.DATABASE_URL);
  if (!(yield* check(config))) return yield findingsOf('secrets').skipped('it needs the database');
  try {
    await using store = await openStore({ ...config, clock: systemClock, threads: false });
    const standings = await readStandings(store, config);
    yield checkSecrets(await store.secrets.live(), config);
    const { pending, running, dead, quarantined, paused } = await store.reports.overview();
    const seen = `${pending} pending, ${running} running, ${dead} dead, ${quarantined} in quarantine`;
    const resume = `${paused?.by} has paused handling (${paused?.reason}): npx hookkit resume`;
    yield judged('events', seen, [
      [paused !== undefined, 'warn', resume],
      [dead > 0, 'warn', 'docs/replay.md says what to do with dead events'],
      [quarantined > 0, 'warn', 'npx hookkit quarantine list shows their webhooks'],
    ]);
    return { has: (webhookId) => standings.of(webhookId).state !== 'missing' };
  } catch (error) {
    // The checks above have found all else that may be wrong with a database.
    return yield findingsOf('secrets').fail(messageOf(error));
  }
}

const NO_SECRET =
  'the receiver refuses every notification: store a secret by npx hookkit webhooks create or import';

const PREDICTABLE =
  'begins with mock-, so anybody can compute it, and it verifies nothing here: use another one';

function checkSecrets(live: readonly WebhookSecret[], config: Config): Finding {
  const { WEBHOOK_SECRET: fallback } = config;
  const stored = new Set(live.map(({ webhookId }) => webhookId));
  const others = fallback === undefined ? '' : ', and WEBHOOK_SECRET for those that never had one';
  const all = [...live, { webhookId: undefined, secret: fallback ?? '' }];
  const seeded = all.filter(({ secret }) => isSeededInPublic(secret, config));
  const whose = new Set(seeded.map(({ webhookId: id }) => (id ? `webhook ${id}` : 'WEBHOOK_SECRET')));
  return judged('secrets', `they open with the key; webhooks with a secret: ${stored.size}${others}`, [
    [stored.size === 0 && fallback === undefined, 'FAIL', NO_SECRET],
    [whose.size > 0, 'FAIL', `that of ${[...whose].join(', ')} ${PREDICTABLE}`],
  ]);
}
