import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach } from '@jest/globals';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { testDatabase } from './engine.ts';
import { eventually } from './eventually.ts';
import { PATH, SECRET, WEBHOOK } from './genuine.ts';
import { tokenOf } from './hs256.ts';
import { type RunOptions, runService } from './running-service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A service with its admin listener, in this process and on a database of its own. */
export type Inspected = Awaited<ReturnType<typeof inspect>>;

export interface RawOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const disposals: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const dispose of disposals) await dispose();
});

/** It is disposed of after the suite, unless it has been by then. */
export async function inspect(
  handlers: Handlers = {},
  env: Readonly<Record<string, string>> = {},
  options: RunOptions = {},
) {
  const isOwn = env.DATABASE_URL === undefined;
  const database = isOwn ? await testDatabase(await temporaryDirectory()) : undefined;
  const retries = { RETRY_BASE_MS: '1', RETRY_MAX_ATTEMPTS: '3', SHUTDOWN_GRACE_MS: '100' };
  const settings = { WEBHOOK_SECRET: '', ...database?.env, ...retries, ...env };
  const service = await runService(handlers, settings, { ...options, inspected: true });
  await service.store.secrets.add(WEBHOOK, SECRET);
  const url = service.adminUrl ?? '';
  let disposed: Promise<void> | undefined;
  const dispose = () => {
    disposed ??= service.stop().then(() => database?.remove());
    return disposed;
  };
  disposals.push(dispose);
  return {
    service,
    /** of the admin listener */
    url,
    /** settings that name its database */
    env: database?.env ?? env,
    log: service.log,
    /** Sends a notification as the provider does. */
    deliver(body: object, secret = SECRET, others: Readonly<Record<string, string>> = {}) {
      const text = JSON.stringify(body);
      const headers = { authorization: `Bearer ${tokenOf(text, secret)}`, ...others };
      return fetch(`${service.url}${PATH}`, { method: 'POST', headers, body: text });
    },
    /** Has processes on its database that were last seen 40 seconds ago. */
    async addGone(...names: readonly string[]): Promise<void> {
      for (const name of names) {
        const instance = { name, version: '1', startedAt: 0, running: 0, kinds: [] };
        await service.store.reports.report({ instance, stats: [], refusals: [] });
        const past = `SET seen_at = seen_at - 40000, clock_at = clock_at - 40000 WHERE name = '${name}'`;
        const statement = {
          sqlite: `UPDATE instances ${past}`,
          postgres: `UPDATE hookkit.instances ${past}`,
        };
        await database?.execute(statement);
      }
    },
    /** Waits until every event has come to its end. */
    async settled(): Promise<void> {
      await eventually('every event has come to its end', async () => {
        const { pending, running } = await service.store.reports.overview();
        return pending + running === 0;
      });
    },
    /** What the API answers, parsed; a request that is refused fails the test. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
    async api(path: string, init?: RequestInit): Promise<any> {
      const answer = await fetch(`${url}/api${path}`, init);
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    },
    /** What the admin listener answers to a request with exactly these headers. */
    raw: (path: string, options: RawOptions = {}) => raw(`${url}${path}`, options),
    /** What the admin listener answers to JSON for the API, or to a form of a page. */
    post(path: string, given: object = {}): Promise<RawAnswer> {
      const isApi = path.startsWith('/api/');
      const type = isApi ? 'application/json' : 'application/x-www-form-urlencoded';
      const body = isApi ? JSON.stringify(given) : new URLSearchParams(Object.entries(given)).toString();
      const headers = { origin: url, 'content-type': type, 'content-length': `${Buffer.byteLength(body)}` };
      return raw(`${url}${path}`, { method: 'POST', headers, body });
    },
    dispose,
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
async function raw(url: string, { method = 'GET', headers = {}, body }: RawOptions): Promise<RawAnswer> {
  const sent = request(url, { method, headers, agent: false }).end(body);
  const [answer] = await once(sent, 'response');
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}
