import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { digestOf } from '../../src/notification/digest.ts';
import { parseJsonText } from '../../src/notification/json.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { rawConnection, statusOf } from '../support/raw-http.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { accepted } from './forgery/accepted.ts';
import { algorithms } from './forgery/algorithms.ts';
import { authorization } from './forgery/authorization.ts';
import { bodies } from './forgery/bodies.ts';
import { claims } from './forgery/claims.ts';
import { type Case, OTHER, OTHER_WEBHOOK, RETIRED, SECRET, WEBHOOK } from './forgery/forged.ts';
import { joseHeaders } from './forgery/jose-headers.ts';
import { secrets, signatures } from './forgery/signatures.ts';

const forgeries = { algorithms, joseHeaders, signatures, secrets, claims, bodies, authorization };
const all = [...Object.values(forgeries).flat(), ...accepted];
/** Connections at once. */
const AT_ONCE = 32;

const directory = mkdtempSync(join(tmpdir(), 'hookkit-forgery-'));
const url = `sqlite:${join(directory, 'receiver.db')}`;
const answers = new Map<Case, string>();
let service: RunningService;

beforeAll(async () => {
  const store = await SqliteStore.open({
    path: join(directory, 'receiver.db'),
    clock: systemClock,
    threads: OWN_THREADS,
  });
  await store.addSecret(WEBHOOK, RETIRED);
  await store.retireSecret(WEBHOOK, RETIRED, systemClock.now());
  await store.addSecret(WEBHOOK, SECRET);
  await store.addSecret(OTHER_WEBHOOK, OTHER);
  await store.close();
  service = await runService(
    {},
    { DATABASE_URL: url, WEBHOOK_SECRET: '', REJECT_LIMIT: '1000000' },
    { threads: OWN_THREADS },
  );
  const waiting = [...all];
  const sendAll = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const connection = await rawConnection(service.port);
      connection.write(next.request);
      answers.set(next, await connection.closed);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
});

afterAll(async () => {
  await service.dispose();
  rmSync(directory, { recursive: true });
});

const table = (cases: readonly Case[]) => cases.map((one) => [one.name, one.status, one] as const);

describe.each(Object.entries(forgeries))('%s', (_what, cases) => {
  test.each(table(cases))('%s, sent to the webhook, is refused with %i', (_name, status, one) => {
    const answer = answers.get(one) ?? '';
    expect(statusOf(answer)).toBe(status);
    expect(answer).not.toMatch(/accepted|duplicate|node_modules|at \w+ \(|\.ts\b/);
  });
});

describe('a genuine notification', () => {
  test.each(table(accepted))('%s, sent to the webhook, is taken with %i', (_name, status, one) => {
    expect(statusOf(answers.get(one) ?? '')).toBe(status);
  });
});

describe('the table', () => {
  test('has more than 60 forgeries, counted by their names, and no name twice', () => {
    const names = Object.entries(forgeries).flatMap(([what, cases]) =>
      cases.map(({ name }) => `${what} ${name}`),
    );
    expect(names.length).toBeGreaterThan(60);
    expect(new Set(names).size).toBe(names.length);
    process.stdout.write(`forgeries refused: ${names.length}; genuine ones taken: ${accepted.length}\n`);
  });

  test('leaves in the database, once all of it was sent, what was genuine, as often as it came, and nothing else', async () => {
    const digests = accepted.map(({ request }) => digestOf(parseJsonText(bodyIn(request))).toString('hex'));
    const events = await service.store.events({}, { limit: 1000 });
    const recorded = events.flatMap(({ digest, deliveries }) => Array<string>(deliveries).fill(digest));
    expect(recorded.toSorted()).toEqual(digests.toSorted());
  });
});

function bodyIn(request: Buffer): string {
  return request.toString().split('\r\n\r\n').slice(1).join('');
}
