import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll } from './claiming.ts';
import { databaseForEachTest } from './engine.ts';
import { SECRET } from './notifications.ts';
import { type CliOptions, callCli } from './run-cli.ts';
import { startProcess } from './service-process.ts';
import { verified } from './verified-notification.ts';

export { SECRET };

/** A line of NDJSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
export type Line = any;

/** A database of events and the command line beside it, for one test. */
export type EventDesk = ReturnType<ReturnType<typeof deskForEachTest>>;

/** Gives every test of a file a desk of its own. */
export function deskForEachTest() {
  const ofTest = databaseForEachTest();
  return () => {
    const database = ofTest();
    const { directory, env } = database;
    /** The path of a file in the directory. */
    const path = (name: string) => join(directory, name);
    return {
      directory,
      env,
      database,
      path,
      /** A store on the database, as another process has. */
      store: () => database.open(),
      /** Records so many events of so many media, a second apart, and handles them. */
      fill: async (count: number, media = count) => fill(await database.open(), count, media),
      events: (args: readonly string[], options: CliOptions = {}) =>
        callCli(['events', ...args], { ...options, env: { ...env, ...options.env }, cwd: directory }),
      /** Serves in a process of its own. */
      serve: (own: Readonly<Record<string, string>> = {}) =>
        startProcess({ ...env, LEASE_MS: '500', ...own }),
      write(name: string, content: string | Buffer): string {
        writeFileSync(path(name), content);
        return path(name);
      },
      lines: (name: string) => ndjson(readFileSync(path(name), 'utf8')),
    };
  };
}

async function fill(store: EventStore, count: number, media: number): Promise<void> {
  await store.secrets.add('webhook1', SECRET);
  const first = Date.UTC(2026, 0, 1);
  const numbers = Array.from({ length: count }, (_, number) => number);
  await Promise.all(
    numbers.map((number) => {
      const media_id = `media${String(number % media).padStart(3, '0')}`;
      const at = first + number * 1000;
      const notification = verified({ at, media_id, webhook_id: 'webhook1', site_id: 'site0001' });
      return store.queue.record(notification, at + 250);
    }),
  );
  await settleAll(store, HANDLED);
}

/** The values of NDJSON. */
export function ndjson(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
