import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { type Service, startService } from '../../src/service.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { PATH } from './genuine.ts';
import { tokenOf } from './hs256.ts';
import { type LogLines, logLines } from './log-lines.ts';
import { OWN_THREADS } from './own-threads.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A database that services of one test share, one after the other or side by side. */
export interface ServiceHouse {
  readonly path: string;
  readonly log: LogLines;
  /** Starts a service on the database; it is stopped after the test if it was not before. */
  start(env?: Readonly<Record<string, string>>, handlers?: Handlers): Promise<Service>;
  /** A store on the database, as a command in another process has. */
  openStore(): Promise<EventStore>;
}

/** Gives every test that asks a database of its own. */
export function serviceHouses(): () => Promise<ServiceHouse> {
  const cleanUps: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });
  return async () => {
    const directory = await temporaryDirectory();
    cleanUps.push(() => rm(directory, { recursive: true }));
    const path = join(directory, 'receiver.db');
    const log = logLines();
    const start: ServiceHouse['start'] = async (env = {}, handlers = {}) => {
      const config = parseConfig({
        HOST: '127.0.0.1',
        PORT: '0',
        DATABASE_URL: `sqlite:${path}`,
        DRAIN_MS: '0',
        SHUTDOWN_GRACE_MS: '0',
        ...env,
      });
      const random = () => 0.5;
      const store = openStore({
        url: config.DATABASE_URL,
        clock: systemClock,
        secretsKey: config.SECRETS_KEY,
        threads: OWN_THREADS,
      });
      const service = await startService({
        config,
        app: { handlers },
        store,
        clock: systemClock,
        log: log.log,
        random,
      });
      let stopped: Promise<void> | undefined;
      const stop = () => {
        stopped ??= service.stop();
        return stopped;
      };
      cleanUps.push(stop);
      return { ...service, stop };
    };
    const openBeside = async () => {
      const store = await openStore({ url: `sqlite:${path}`, clock: systemClock, threads: false });
      cleanUps.push(() => store.close());
      return store;
    };
    return { path, log, start, openStore: openBeside };
  };
}

/** Sends a notification over HTTP as the provider does. */
export async function post(service: Service, body: object, secret: string): Promise<Response> {
  const text = JSON.stringify(body);
  return fetch(`http://127.0.0.1:${service.port}${PATH}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenOf(text, secret)}`, connection: 'close' },
    body: text,
  });
}
