import { existsSync, globSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Command, Option } from 'commander';
import { openLog } from '../base/log.ts';
import { type Config, isWatched, loadConfig } from '../config.ts';
import { type Key, replayLast, takeKeys } from '../dev/keys.ts';
import { prettyLog } from '../dev/pretty-log.ts';
import { introduction, SITE, setDevStage, tellingEnds } from '../dev/stage.ts';
import { loadApp, possibleFiles } from '../dispatch/load-handlers.ts';
import { guardProcess } from '../dispatch/process-guard.ts';
import type { Service } from '../service.ts';
import { stopInOrder } from '../stopping.ts';
import { wholeNumber } from './options.ts';
import { say } from './output.ts';

/** A developer waits for the restart, so a running handler is aborted soon; the restarted server runs it again. */
const LONGEST_GRACE_MS = 250;
/** The time for the rest of a stop: the last commit, a handler that ignores its signal. */
const CLOSING_MS = 10_000;

export function addDev(program: Command): void {
  program
    .command('dev')
    .description('Develop handlers: serve on loopback and DEV_DATABASE_URL, with a mock provider beside.')
    .option('--tick', 'let the mock live: every few seconds something is uploaded, changed or goes live')
    .addOption(
      new Option('--seed <number>', 'let it live, and the same happens in the same order')
        .argParser(wholeNumber())
        .implies({ tick: true }),
    )
    .action(dev);
}

interface Flags {
  readonly tick?: true;
  readonly seed?: number;
}

/** The settings, but with a database of its own: `dev` must not touch the data of a server with the same settings. */
function devConfig(): Config {
  const config = loadConfig({ HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1', DRAIN_MS: '0' });
  return {
    ...config,
    DATABASE_URL: config.DEV_DATABASE_URL,
    SHUTDOWN_GRACE_MS: Math.min(config.SHUTDOWN_GRACE_MS, LONGEST_GRACE_MS),
  };
}

async function dev({ tick, seed }: Flags): Promise<void> {
  const config = devConfig();
  const { stdin, stdout } = process;
  const output = openLog(config, await prettyLog(stdout));
  const guard = guardProcess(output.log);
  if (isWatched()) watchHandlers(possibleFiles(config)); // before they load, as that may fail
  const loaded = await loadApp(config);
  const app = { ...loaded, handlers: tellingEnds(loaded.handlers, say) };
  const { log, dropped: droppedLogLines } = output;
  const life = tick && { seed };
  const stage = await setDevStage({ config, app, log, droppedLogLines, site: SITE, life });
  const leaveKeys = takeKeys(keysOf(stage.service), stdin, say);
  const stop = async () => {
    leaveKeys();
    await stage.stop();
  };
  const delay = config.SHUTDOWN_GRACE_MS + CLOSING_MS;
  stopInOrder({ output, guard, delay, stop });
  say(introduction(stage, config, app));
  if (stdin.isTTY) say('Type r and Enter to handle the last events again, or ? and Enter for all keys.\n');
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
    { key: 'q', what: 'stop', press: interrupt },
  ];
}

/** Ends this process in order, and `node --watch` with it. */
function interrupt(): void {
  process.kill(isWatched() ? process.ppid : process.pid, 'SIGINT');
}

const LOADED = '**/*.{ts,mts,cts,js,mjs,cjs,json}';
const MOST = 1000;

/**
 * Has `node --watch` see what it would not: a file that an editor saves by putting a new one in its place, and one that is not there yet.
 * Node watches a file, not its name, and never watches again what it watches already by that name: the second such save would go
 * unnoticed, and all later ones. So each start names the files anew, in words of its own.
 * @param files where the module of the handlers may be: what stands beside and below the first that is there is watched, or else the
 *   folders in which it may come to be
 */
function watchHandlers(files: readonly string[]): void {
  const there = files.find((file) => existsSync(file));
  if (there !== undefined) watch(dirname(there), globSync(LOADED, { cwd: dirname(there), exclude: HIDDEN }));
  else for (const folder of new Set(files.map(nearestFolder))) watch(folder, ['.']);
}

const HIDDEN = ['**/node_modules', '**/.*'];

/** The folder of a file, or the nearest around it that is there. */
function nearestFolder(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) ? folder : nearestFolder(folder);
}

function watch(folder: string, paths: readonly string[]): void {
  // The number of the process, in a way that leads nowhere.
  const way = [...process.pid.toString(2)].map((digit) => (digit === '1' ? './' : '/')).join('');
  // What Node itself sends where it runs as the child of `node --watch`.
  process.send?.({ 'watch:require': paths.slice(0, MOST).map((path) => `${folder}/${way}${path}`) });
}
