import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { claims, HANDLED } from './claiming.ts';
import { present } from './only.ts';
import { type CliOptions, type CliRun, runCli, type SpawnOptions, spawnCli } from './run-cli.ts';
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
  /** what every command printed */
  readonly outputs: string[];
  /** A store on the database, as another process has. */
  store(): Promise<EventStore>;
  /** Records so many events of so many media, a second apart, and handles them. */
  fill(count: number, media?: number): Promise<void>;
  events(args: readonly string[], options?: CliOptions): Promise<CliRun>;
  /** The same in a process of its own. */
  spawnEvents(args: readonly string[], options?: SpawnOptions): Promise<CliRun>;
  serve(env?: Readonly<Record<string, string>>, handlers?: URL): Promise<ServiceProcess>;
  /** The path of a file in the directory. */
  path(name: string): string;
  write(name: string, content: string | Buffer): string;
  lines(name: string): Line[];
}

async function open(cleanUps: (() => unknown)[]): Promise<EventDesk> {
  const directory = await temporaryDirectory();
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const database = join(directory, 'receiver.db');
  const env = { DATABASE_URL: `sqlite:${database}` };
  const outputs: string[] = [];
  const path = (name: string) => join(directory, name);
  const store = async () => {
    const opened = await SqliteStore.open({ path: database, clock: systemClock, threads: false });
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
    outputs,
    store,
    path,
    async fill(count, media = count) {
      const opened = await SqliteStore.open({ path: database, clock: systemClock, threads: false });
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
      for (let ready = await claims(opened); ready.length > 0; ready = await claims(opened)) {
        await Promise.all(ready.map((claim) => opened.settle(claim, 'one', HANDLED)));
      }
      await opened.close();
    },
    events: (args, options = {}) =>
      noted(runCli(['events', ...args], { ...options, env: { ...env, ...options.env }, cwd: directory })),
    spawnEvents: (args, options = {}) =>
      noted(spawnCli(['events', ...args], { ...options, env: { ...env, ...options.env }, cwd: directory })),
    async serve(own = {}, handlers) {
      const service = await startProcess({ ...env, LEASE_MS: '500', ...own }, handlers);
      cleanUps.push(async () => {
        service.child.kill('SIGKILL');
        await service.exited;
      });
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
