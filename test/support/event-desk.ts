import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { handlers as samples } from '../../src/demo/handlers.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll } from './claiming.ts';
import { absentIn, ENGINE, type TestDatabase, testDatabase } from './engine.ts';
import { present } from './only.ts';
import { OWN_THREADS } from './own-threads.ts';
import { type CliOptions, type CliRun, runCli } from './run-cli.ts';
import { type RunningService, runService } from './running-service.ts';
import { type Served, serve } from './served.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { verified } from './verified-notification.ts';

export const SECRET = 'a-secret-of-at-least-thirty-two-bytes';

/** A line of NDJSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
export type Line = any;

/** A database of events and the command line beside it, for one test. */
export interface EventDesk {
  readonly directory: string;
  readonly env: Record<string, string>;
  /** settings of a database that is not there */
  readonly absent: Readonly<Record<string, string>>;
  readonly database: TestDatabase;
  /** what every command printed */
  readonly outputs: string[];
  /** A store on the database, as another process has. */
  store(): Promise<EventStore>;
  /** Records so many events of so many media, a second apart, and handles them. */
  fill(count: number, media?: number): Promise<void>;
  events(args: readonly string[], options?: CliOptions): Promise<CliRun>;
  /** Serves where it is beside the point that the server has a process of its own. */
  serve(env?: Readonly<Record<string, string>>): Promise<Served>;
  serveApart(env?: Readonly<Record<string, string>>, handlers?: URL): Promise<ServiceProcess>;
  /** The same in this process: where it is beside the point that the server has one of its own. */
  serveHere(env?: Readonly<Record<string, string>>): Promise<RunningService>;
  /** The path of a file in the directory. */
  path(name: string): string;
  write(name: string, content: string | Buffer): string;
  lines(name: string): Line[];
}

/** The files of databases that a test has filled, by how; the later tests of a suite get copies. */
type Filled = Map<string, ReadonlyMap<string, Buffer>>;

async function fill(database: TestDatabase, count: number, media: number): Promise<void> {
  const opened = await database.open();
  await opened.addSecret('webhook1', SECRET);
  const first = Date.UTC(2026, 0, 1);
  const numbers = Array.from({ length: count }, (_, number) => number);
  await Promise.all(
    numbers.map((number) => {
      const notification = verified({
        at: first + number * 1000,
        media_id: `media${String(number % media).padStart(3, '0')}`,
        webhook_id: 'webhook1',
        site_id: 'site0001',
      });
      return opened.record(notification, first + number * 1000 + 250);
    }),
  );
  await settleAll(opened, HANDLED);
  await opened.close();
}

async function open(cleanUps: (() => unknown)[], filled: Filled): Promise<EventDesk> {
  const directory = await temporaryDirectory();
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const database = await testDatabase(directory);
  cleanUps.push(() => database.remove());
  const env = { ...database.env };
  const outputs: string[] = [];
  const path = (name: string) => join(directory, name);
  const store = async () => {
    const opened = await database.open();
    cleanUps.push(() => opened.close());
    return opened;
  };
  const noted = async (running: Promise<CliRun>) => {
    const run = await running;
    outputs.push(run.stdout, run.stderr);
    return run;
  };
  return {
    directory,
    env,
    absent: absentIn(directory),
    database,
    outputs,
    store,
    path,
    async fill(count, media = count) {
      const name = `${count} ${media}`;
      const isNew = ENGINE === 'sqlite' && !existsSync(path('receiver.db'));
      const known = isNew && filled.get(name);
      if (known) {
        for (const [file, content] of known) writeFileSync(path(file), content, { mode: 0o600 });
        return;
      }
      await fill(database, count, media);
      if (!isNew) return;
      const files = readdirSync(directory).filter((file) => file.startsWith('receiver.db'));
      filled.set(name, new Map(files.map((file) => [file, readFileSync(path(file))])));
    },
    events: (args, options = {}) =>
      noted(runCli(['events', ...args], { ...options, env: { ...env, ...options.env }, cwd: directory })),
    async serve(own = {}) {
      const served = await serve({ env: { ...env, LEASE_MS: '500', ...own } });
      cleanUps.push(() => served.discard());
      return served;
    },
    async serveApart(own = {}, handlers) {
      const service = await startProcess({ ...env, LEASE_MS: '500', ...own }, handlers);
      cleanUps.push(async () => {
        service.child.kill('SIGKILL');
        await service.exited;
      });
      return service;
    },
    async serveHere(own = {}) {
      const service = await runService(
        samples,
        { WEBHOOK_SECRET: '', LEASE_MS: '500', ...env, ...own },
        { threads: OWN_THREADS },
      );
      cleanUps.push(() => service.dispose());
      return service;
    },
    write(name, content) {
      writeFileSync(path(name), content);
      return path(name);
    },
    lines: (name) => ndjson(readFileSync(path(name), 'utf8')),
  };
}

/** The values of NDJSON. */
export function ndjson(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Gives every test of a file a desk of its own. */
export function deskForEachTest(): () => EventDesk {
  const cleanUps: (() => unknown)[] = [];
  const filled: Filled = new Map();
  let desk: EventDesk | undefined;
  beforeEach(async () => {
    desk = await open(cleanUps, filled);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });
  return () => present(desk);
}
