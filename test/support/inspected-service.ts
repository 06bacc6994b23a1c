import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { afterEach } from '@jest/globals';
import { type MonotonicClock, systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import { createInspector } from '../../src/inspector/index.ts';
import { type Service, startService } from '../../src/service.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { testDatabase } from './engine.ts';
import { eventually } from './eventually.ts';
import { PATH, SECRET, WEBHOOK } from './genuine.ts';
import { tokenOf } from './hs256.ts';
import { type LogLines, logLines } from './log-lines.ts';
import { OWN_THREADS } from './own-threads.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A service with its admin listener, in this process and on a database of its own. */
export interface Inspected {
  readonly service: Service;
  /** of the admin listener */
  readonly url: string;
  /** settings that name its database */
  readonly env: Readonly<Record<string, string>>;
  readonly log: LogLines;
  /** Sends a notification as the provider does. */
  deliver(body: object, secret?: string): Promise<Response>;
  /** Waits until every event has come to its end. */
  settled(): Promise<void>;
  /** What the API answers, parsed; a request that is refused fails the test. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  api(path: string, init?: RequestInit): Promise<any>;
  /** What the admin listener answers to a request with exactly these headers. */
  raw(path: string, options?: RawOptions): Promise<RawAnswer>;
  dispose(): Promise<void>;
}

interface RawOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

interface InspectOptions {
  /** false: its store has none, as each takes long to start; commits are then not timed */
  readonly threads?: boolean;
  /** has handlers of its own, in place of those given first */
  readonly app?: ReadyApp;
  readonly clock?: MonotonicClock;
  /** puts another store in front of its own, which then has no threads */
  readonly wrap?: (store: EventStore) => EventStore;
}

export async function inspect(
  handlers: Handlers = {},
  env: Readonly<Record<string, string>> = {},
  { threads = OWN_THREADS, app = { handlers }, clock = systemClock, wrap }: InspectOptions = {},
): Promise<Inspected> {
  const directory = await temporaryDirectory();
  const database = env.DATABASE_URL === undefined ? await testDatabase(directory) : undefined;
  const log = logLines();
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    ...database?.env,
    DRAIN_MS: '0',
    SHUTDOWN_GRACE_MS: '100',
    RETRY_BASE_MS: '1',
    RETRY_MAX_ATTEMPTS: '3',
    ...env,
  });
  const admin = createInspector(clock);
  const { DATABASE_URL: databaseUrl, SECRETS_KEY: secretsKey } = config;
  const store =
    threads && !wrap ? undefined : openStore({ url: databaseUrl, clock, secretsKey, threads: false });
  const service = await startService({
    config,
    app,
    store: wrap ? store?.then(wrap) : store,
    clock,
    log: log.log,
    random: Math.random,
    admin,
  });
  await service.store.addSecret(WEBHOOK, SECRET);
  const url = service.adminUrl ?? '';
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  return {
    service: { ...service, stop },
    url,
    env: database?.env ?? env,
    log,
    deliver(body, secret = SECRET) {
      const text = JSON.stringify(body);
      const headers = { authorization: `Bearer ${tokenOf(text, secret)}` };
      return fetch(`http://127.0.0.1:${service.port}${PATH}`, { method: 'POST', headers, body: text });
    },
    async settled() {
      await eventually('every event has come to its end', async () => {
        const { pending, running } = await service.store.overview();
        return pending + running === 0;
      });
    },
    async api(path, init) {
      const answer = await fetch(`${url}/api${path}`, init);
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    },
    raw: (path, options = {}) => raw(`${url}${path}`, options),
    async dispose() {
      await stop();
      await database?.remove();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Gives a function that starts services; they are disposed of after each test. */
export function inspectedForEachTest(): typeof inspect {
  const started: Inspected[] = [];
  afterEach(async () => {
    for (const one of started.splice(0)) await one.dispose();
  });
  return async (...given) => {
    const one = await inspect(...given);
    started.push(one);
    return one;
  };
}

/** fetch() does not let anybody set Host, Origin or Cookie. */
function raw(url: string, { method = 'GET', headers = {}, body }: RawOptions): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
      );
    });
    sent.on('error', reject).end(body);
  });
}
