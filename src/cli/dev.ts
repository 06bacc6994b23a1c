import { globSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import { openLog } from '../base/log.ts';
import { type Config, isWatched, loadConfig, useDevDatabase } from '../config.ts';
import { type Key, replayLast, takeKeys } from '../dev/keys.ts';
import { prettyLog } from '../dev/pretty-log.ts';
import { introduction, SITE, setDevStage, tellingEnds } from '../dev/stage.ts';
import { handlersFile, loadApp } from '../dispatch/load-handlers.ts';
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
    .option('--seed <number>', 'let it live, and the same happens in the same order', wholeNumber())
    .action(dev);
}

/** The settings, but with a database of its own: `dev` must not touch the data of a server with the same settings. */
function devConfig(): Config {
  useDevDatabase();
  const config = loadConfig({ HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1', DRAIN_MS: '0' });
  return { ...config, SHUTDOWN_GRACE_MS: Math.min(config.SHUTDOWN_GRACE_MS, LONGEST_GRACE_MS) };
}

async function dev({ tick, seed }: { tick?: true; seed?: number }): Promise<void> {
  const config = devConfig();
  const { stdin } = process;
  const output = openLog(config, await prettyLog(process.stdout));
  const guard = guardProcess(output.log);
  if (isWatched()) watchBeside(handlersFile(config)); // before they load, as that may fail
  const loaded = await loadApp(config);
  const app = { ...loaded, handlers: tellingEnds(loaded.handlers, say) };
  const { log, dropped: droppedLogLines } = output;
  const life = tick || seed !== undefined ? { seed } : undefined;
  const stage = await setDevStage({ config, app, log, droppedLogLines, site: SITE, life });
  const leaveKeys = takeKeys(keysOf(stage.service), stdin, say);
  const stop = () => {
    leaveKeys();
    return stage.stop();
  };
  stopInOrder({ output, guard, delay: config.SHUTDOWN_GRACE_MS + CLOSING_MS, stop });
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
const HIDDEN = ['**/node_modules', '**/.*'];
const MOST = 1000;

/**
 * Has `node --watch` see a file that an editor saves by putting a new one in its place. Node watches a file, not its name, and never
 * watches again what it watches already by that name: the second such save would go unnoticed, and all later ones. So each start names
 * the files anew, in words of its own.
 */
function watchBeside(file: string): void {
  const folder = dirname(file);
  // The number of the process, in a way that leads nowhere.
  const way = [...process.pid.toString(2)].map((digit) => (digit === '1' ? './' : '/')).join('');
  const paths = globSync(LOADED, { cwd: folder, exclude: HIDDEN }).slice(0, MOST);
  // What Node itself sends where it runs as the child of `node --watch`.
  process.send?.({ 'watch:require': paths.map((path) => `${folder}/${way}${path}`) });
}
