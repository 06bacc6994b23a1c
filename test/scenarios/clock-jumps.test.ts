import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { eventually } from '../support/eventually.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { only } from '../support/only.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';
import { SteppedClock } from '../support/stepped-clock.ts';
import { verified } from '../support/verified-notification.ts';

/** Handled on two servers while an event runs. */
const MEANWHILE = size({ small: 10, full: 40 });
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LEASE_MS = 1500;
const env = { LEASE_MS: String(LEASE_MS), HANDLER_TIMEOUT_MS: '600000', RETRY_BASE_MS: '1' };

let clock: SteppedClock;
const services: RunningService[] = [];

beforeEach(() => {
  clock = new SteppedClock();
});

afterEach(async () => {
  for (const service of services.splice(0).reverse()) await service.dispose();
});

async function start(handlers: Handlers, more: Readonly<Record<string, string>> = {}) {
  const service = await runService(handlers, { ...env, ...more }, { clock, threads: OWN_THREADS });
  services.push(service);
  return service;
}

/** Media 1 waits for the test, the others are handled at once. */
function holdsTheFirst(held: HeldHandler): Handlers {
  return {
    media_available: (event, ctx) => (event.media_id === 'media1' ? held.handle(event, ctx) : undefined),
  };
}

/** How the first event's lease stands, as the database has it. */
function leaseUntil({ path }: RunningService): number {
  const db = new Database(path, { readonly: true });
  const until = db
    .prepare<[], number>(`SELECT lease_until FROM lanes WHERE resource = 'media:media1'`)
    .pluck()
    .get();
  db.close();
  return until ?? 0;
}

const handled = async (service: RunningService, events: number) =>
  eventually(
    `${events} are handled`,
    async () => (await service.store.count({ status: 'handled' })) === events,
  );

test('an event that runs does not run a second time, when the clock is set a day forward, and ends as handled', async () => {
  const held = new HeldHandler();
  const service = await start(holdsTheFirst(held));
  await deliver(service.url, bodyOf(1));
  await eventually('it runs', () => held.running.length === 1);
  clock.step(DAY_MS);
  for (let number = 2; number < 12; number++) await deliver(service.url, bodyOf(number));
  await handled(service, 10);
  await eventually('its lease is renewed', () => leaseUntil(service) > clock.now());
  expect(held.runs).toHaveLength(1);
  held.last.end();
  await handled(service, 11);
  expect(only(await service.store.events({ resource: 'media:media1' }, { limit: 2 }))).toMatchObject({
    attempts: 1,
  });
});

test('an event that runs is not taken by a second server, when the clock of both is set a day forward', async () => {
  const [first, second] = [new HeldHandler(), new HeldHandler()];
  const one = await start(holdsTheFirst(first));
  await deliver(one.url, bodyOf(1));
  await eventually('it runs', () => first.running.length === 1);
  const two = await start(holdsTheFirst(second), { DATABASE_URL: `sqlite:${one.path}` });
  clock.step(DAY_MS);
  for (let number = 2; number < MEANWHILE + 2; number++) {
    await deliver(number % 2 === 0 ? one.url : two.url, bodyOf(number));
    await handled(one, number - 1);
  }
  await eventually('its lease is renewed', () => leaseUntil(one) > clock.now());
  expect([first.runs.length, second.runs.length]).toEqual([1, 0]);
  first.last.end();
  await handled(one, MEANWHILE + 1);
});

test('what a crashed process held runs elsewhere within a lease, when the clock was set back an hour since then', async () => {
  const service = await start({ media_available() {} });
  const crashed = { owner: 'a process that crashed', limit: 1, leaseMs: LEASE_MS, maxAttempts: 5 };
  await service.dispatcher.stop(0);
  const { id } = await service.store.record(verified());
  expect((await service.store.claim(crashed)).claims).toHaveLength(1);
  clock.step(-HOUR_MS);
  service.dispatcher.start();
  await handled(service, 1);
  expect((await service.store.attempts(id)).map(({ outcome }) => outcome)).toEqual(['lost', 'handled']);
});

test('notifications go on being taken and handled, when the clock is set back an hour, and forgeries refused at once', async () => {
  const service = await start({ media_available() {} });
  await deliver(service.url, bodyOf(1));
  clock.step(-HOUR_MS);
  expect((await deliver(service.url, bodyOf(2))).status).toBe(200);
  await handled(service, 2);
  const forged = await fetch(`${service.url}/webhooks/media`, {
    method: 'POST',
    headers: { authorization: 'Bearer a.b.c' },
    body: bodyOf(3),
    signal: AbortSignal.timeout(5000),
  });
  expect(forged.status).toBe(401);
  await service.store.addSecret('hook0009', 'stored after the clock was set back');
  const body = bodyOf(4).replace('hook0001', 'hook0009');
  const { keyOf, signNotification } = await import('../../src/notification/token.ts');
  const token = signNotification(body, keyOf('stored after the clock was set back'));
  const headers = { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(5000);
  const taken = await fetch(`${service.url}/webhooks/media`, { method: 'POST', headers, body, signal });
  expect(taken.status).toBe(200);
});

test('a retry waits for its time of day, when the clock is set back an hour, and is made when that comes', async () => {
  let runs = 0;
  const service = await start(
    {
      media_available() {
        if (++runs === 1) throw new Error('not yet');
      },
    },
    { RETRY_BASE_MS: String(10 * MINUTE_MS) },
  );
  await deliver(service.url, bodyOf(1));
  await eventually(
    'it has failed',
    async () => (await service.store.count({ status: 'pending' })) === 1 && runs === 1,
  );
  clock.step(-HOUR_MS);
  await deliver(service.url, bodyOf(2));
  await eventually('another is handled meanwhile', () => runs === 2);
  clock.step(HOUR_MS + 10 * MINUTE_MS);
  await handled(service, 2);
});
