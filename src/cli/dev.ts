import { fork } from 'node:child_process';
import { url } from 'node:inspector';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { openLog } from '../base/log.ts';
import { sqlitePathOf } from '../base/url.ts';
import type { Config, GlobalFlags } from '../config.ts';
import * as settings from '../config.ts';
import { type Key, replayLast, takeKeys } from '../dev/keys.ts';
import { prettyLog } from '../dev/pretty-log.ts';
import { restartAtChanges } from '../dev/restarts.ts';
import type { DevStage } from '../dev/stage.ts';
import { handlersFile, loadApp } from '../dispatch/load-handlers.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';
import { guardProcess } from '../dispatch/process-guard.ts';
import { lackingKinds } from '../dispatch/subscribers.ts';
import { checkTypes } from '../examination.ts';
import type { Service } from '../service.ts';
import { closeAtSignal, stopInOrder } from '../stopping.ts';
import { watchLoop } from './loop-watch.ts';
import { DEBUGGING_MS, inspectOption, wholeNumber } from './options.ts';
import { say } from './output.ts';

/** A developer waits for the restart, so a running handler is aborted soon; the restarted server runs it again. */
const LONGEST_GRACE_MS = 250;
/** The time for the rest of a stop: the last commit, a handler that ignores its signal. */
const CLOSING_MS = 10_000;
/** After an endless loop or process.exit() its event waits for the end of its lease. */
const LONGEST_LEASE_MS = 10_000;

type Flags = GlobalFlags & {
  tick?: true;
  seed?: number;
  inspect?: number;
  restarted?: true | 'again';
};

export function addDev(program: Command): void {
  program
    .command('dev')
    .description('Develop handlers: serve on loopback and DEV_DATABASE_URL, with a mock provider beside.')
    .option('--tick', 'simulate a small site: every few seconds something is uploaded, changed or goes live')
    .option('--seed <number>', 'like --tick; the same seed gives the same changes', wholeNumber())
    .addOption(inspectOption('take debuggers'))
    .addOption(new Option('--restarted [again]', 'serve, and tell the parent of files').hideHelp())
    .action((_: object, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      return flags.restarted ? serve(flags) : restart(flags);
    });
}

/** Loads no handlers, so that nothing in them holds it up: a process of its own serves, and starts again at changes. */
function restart({ inspect, ...flags }: Flags): void {
  const [, program = '', ...args] = process.argv;
  const execArgv = inspect === undefined ? [] : [`--inspect=127.0.0.1:${inspect}`];
  const env = settings.tellingLoads(); // before the file of settings is read here: it may change
  let check = new AbortController();
  const begin = (runsAgain: boolean) => {
    check.abort();
    check = new AbortController();
    tellTypes(flags, check.signal).catch(() => {}); // the process that serves says what is wrong with the settings
    return fork(program, [...args, runsAgain ? '--restarted=again' : '--restarted'], { execArgv, env });
  };
  const end = restartAtChanges(begin, say);
  const close = (signal: NodeJS.Signals) => {
    check.abort();
    return end(signal);
  };
  closeAtSignal({ delay: 2 * CLOSING_MS, close });
}

/** Says where types do not fit, which stops nothing. */
async function tellTypes(flags: GlobalFlags, signal: AbortSignal): Promise<void> {
  const { result, detail } = await checkTypes(handlersFile(settings.loadConfig(flags)), signal);
  if (result === 'FAIL' && !signal.aborted) say(`types: ${detail}`);
}

/** The settings, but with a database of its own: `dev` must not touch the data of a server with the same settings, nor post in its name. */
function devConfig(flags: GlobalFlags): Config {
  const fixed = { HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1', DRAIN_MS: '0' };
  const config = settings.loadConfig({ ...flags, dev: true }, fixed);
  const times =
    url() === undefined
      ? { LEASE_MS: Math.min(config.LEASE_MS, LONGEST_LEASE_MS) }
      : { LEASE_MS: DEBUGGING_MS, HANDLER_TIMEOUT_MS: DEBUGGING_MS };
  const grace = Math.min(config.SHUTDOWN_GRACE_MS, LONGEST_GRACE_MS);
  return { ...config, ...times, ALERT_URL: undefined, SHUTDOWN_GRACE_MS: grace };
}

async function serve({ tick, seed, restarted, ...flags }: Flags): Promise<void> {
  process.send?.({ files: [settings.envFileOf(flags), join(settings.projectFolder(), 'package.json')] });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM')); // the parent may have been killed
  process.channel?.unref();
  const config = devConfig(flags);
  const { stdin } = process;
  const output = openLog(config, await prettyLog(process.stdout));
  const expectExit = guardProcess(output.log);
  process.once('exit', () => url() && process.kill(process.pid, 'SIGKILL')); // else Node waits for a debugger to leave
  const loaded = await loadApp(config, say);
  const { DEV_SITE, setDevStage, tellingEnds } = await import('../dev/stage.ts');
  const app = watchLoop(tellingEnds(loaded, output.log));
  const { log, dropped: droppedLogLines } = output;
  const life = tick || seed !== undefined ? { seed } : undefined;
  const stage = await setDevStage({ config, app, log, droppedLogLines, site: DEV_SITE, life });
  const leaveKeys = takeKeys(keysOf(stage.service), stdin, say);
  const stop = () => {
    if (process.connected) process.disconnect(); // the parent knows by that that the event loop goes on
    leaveKeys();
    return stage.stop();
  };
  stopInOrder({ output, expectExit, delay: config.SHUTDOWN_GRACE_MS + CLOSING_MS, stop });
  if (restarted === 'again')
    return say(`dev: serves again, inspector ${stage.service.adminUrl}, mock ${stage.mock.url}`);
  say(introduction(stage, config, app));
  if (stdin.isTTY) say('Type r and Enter to handle the last events again, or ? and Enter for all keys.\n');
}

/** Tells the developer where everything is. */
function introduction({ mock, service, webhook }: DevStage, config: Config, app: ReadyApp): string {
  const lacking = lackingKinds(app);
  const subscribers = Object.keys(app.subscribers ?? {}).join(', ');
  return `receiver  ${webhook.metadata.webhook_url}
inspector ${service.adminUrl}
mock      ${mock.url}, with webhook ${webhook.id} for site ${webhook.metadata.name}; each restart empties it
database  ${resolve(sqlitePathOf(config.DATABASE_URL) ?? '')}, for other commands --dev: npx hookkit events list --dev
handlers  ${handlersFile(config)}
          ${lacking.length === 0 ? 'for all kinds' : `none for ${lacking.join(', ')}`}
${subscribers && `          subscribers ${subscribers}\n`}${app.routes ? `pages     ${service.adminUrl}/app/\n` : ''}
Upload a media and watch your handlers:

  curl -X POST ${mock.url}/_mock/media -H 'Content-Type: application/json' -d '{"site_id":"${webhook.metadata.name}"}'
`;
}

function keysOf(service: Service): readonly Key[] {
  const replay = async (resetSteps: boolean) => {
    const count = await replayLast(service, { resetSteps });
    const events = count === 1 ? 'the last event is' : `the last ${count} events are`;
    say(count === 0 ? 'no event has ended yet' : `${events} handled again`);
  };
  return [
    { key: 'r', what: 'handle the last events again, up to 20', press: () => replay(false) },
    { key: 'R', what: 'the same with every step of ctx.once', press: () => replay(true) },
    { key: 'q', what: 'stop', press: () => void process.kill(process.ppid, 'SIGINT') },
  ];
}
