import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll } from './claiming.ts';
import { type TestDatabase, testDatabase } from './engine.ts';
import { SECRET } from './notifications.ts';
import { present } from './only.ts';
import { type CliOptions, type CliRun, runCli } from './run-cli.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { verified } from './verified-notification.ts';

export { SECRET };

/** A line of NDJSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
export type Line = any;

/** A database of events and the command line beside it, for one test. */
export interface EventDesk {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly database: TestDatabase;
  /** A store on the database, as another process has. */
  store(): Promise<EventStore>;
  /** Records so many events of so many media, a second apart, and handles them. */
  fill(count: number, media?: number): Promise<void>;
  events(args: readonly string[], options?: CliOptions): Promise<CliRun>;
  /** Serves in a process of its own. */
  serve(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** The path of a file in the directory. */
  path(name: string): string;
  write(name: string, content: string | Buffer): string;
  lines(name: string): Line[];
}

async function fill(store: EventStore, count: number, media: number): Promise<void> {
  await store.addSecret('webhook1', SECRET);
  const first = Date.UTC(2026, 0, 1);
  const numbers = Array.from({ length: count }, (_, number) => number);
  await Promise.all(
    numbers.map((number) => {
      const media_id = `media${String(number % media).padStart(3, '0')}`;
      const at = first + number * 1000;
      const notification = verified({ at, media_id, webhook_id: 'webhook1', site_id: 'site0001' });
      return store.record(notification, at + 250);
    }),
  );
  await settleAll(store, HANDLED);
}

async function open(cleanUps: (() => unknown)[]): Promise<EventDesk> {
  const directory = await temporaryDirectory();
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const database = await testDatabase(directory);
  cleanUps.push(() => database.remove());
  const { env } = database;
  const path = (name: string) => join(directory, name);
  const store = async () => {
    const opened = await database.open();
    cleanUps.push(() => opened.close());
    return opened;
  };
  return {
    directory,
    env,
    database,
    store,
    path,
    fill: async (count, media = count) => fill(await store(), count, media),
    events: (args, options = {}) =>
      runCli(['events', ...args], { ...options, env: { ...env, ...options.env }, cwd: directory }),
    async serve(own = {}) {
      const service = await startProcess({ ...env, LEASE_MS: '500', ...own });
      cleanUps.push(() => service.kill());
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
  let desk: EventDesk | undefined;
  beforeEach(async () => {
    desk = await open(cleanUps);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });
  return () => present(desk);
}
