import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { KitError } from '../../src/base/errors.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Breakable } from '../support/breakable-store.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, PATH } from '../support/genuine.ts';
import type { LogLines } from '../support/log-lines.ts';
import { serviceHouses } from '../support/logged-service.ts';
import { rawConnection, statusOf } from '../support/raw-http.ts';
import {
  type ReceiverFixture,
  type ReceiverSetup,
  receiversForEachTest,
  storeWith,
} from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const house = serviceHouses();
const REFUSED = 60;
const MOST = 10;
const FOR_REFUSALS = 8;
const LEFT_OUT = 'more requests were refused than are logged';
const INFO = 30;

type Line = { readonly [member: string]: unknown };

/** What an operator sees at the usual level. */
function shown({ lines }: LogLines): readonly Line[] {
  return lines.map((line): Line => JSON.parse(line)).filter(({ level }) => Number(level) >= INFO);
}

const noDisk = new KitError('STORE_UNAVAILABLE', 'no disk');
const away = () => Promise.reject(noDisk);

/** A receiver for which no time passes but by the test. */
async function startStill(setup: ReceiverSetup) {
  const clock = new VirtualClock();
  const options = { trustProxy: 1, linesASecond: MOST, ...setup.options, clock };
  return { ...(await start({ ...setup, options })), still: clock };
}

/** Unsigned notifications, each from another source. */
const forged = ({ app }: ReceiverFixture, count: number, webhook_id = 'nobody01') =>
  Array.from({ length: count }, (_, number) =>
    deliver(app, notification({ webhook_id }), 'not the secret').set(
      'X-Forwarded-For',
      `198.51.100.${number}`,
    ),
  );

const readiness = ({ app }: ReceiverFixture, count: number) =>
  Array.from({ length: count }, () => request(app).get('/readyz'));

async function statusesOf(requests: readonly PromiseLike<{ readonly status: number }>[]) {
  const answers = await Promise.all(requests);
  return new Set(answers.map(({ status }) => status));
}

describe('refused requests of one second leave few lines, none of them with a stack, and one on how many were left out', () => {
  test('when forgeries come from as many sources as there are', async () => {
    const receiver = await startStill({});
    expect(await statusesOf(forged(receiver, REFUSED))).toEqual(new Set([401]));
    expect(shown(receiver.log)).toHaveLength(FOR_REFUSALS);
    receiver.still.advance(1000);
    const leftOut = REFUSED - FOR_REFUSALS;
    expect(shown(receiver.log).slice(FOR_REFUSALS)).toMatchObject([{ msg: LEFT_OUT, leftOut }]);
  });

  test('when each source is told once that it is throttled', async () => {
    const receiver = await startStill({ options: { rejectLimit: 0 } });
    expect(await statusesOf(forged(receiver, REFUSED))).toEqual(new Set([429]));
    expect(shown(receiver.log)).toHaveLength(FOR_REFUSALS);
  });

  const broken = new Breakable();
  const cases: Record<
    string,
    {
      readonly setup: ReceiverSetup;
      readonly send: (receiver: ReceiverFixture) => PromiseLike<{ readonly status: number }>[];
      readonly line: Line;
    }
  > = {
    'the store is away': {
      setup: { wrap: broken.wrap },
      send: (receiver) => {
        broken.failure = noDisk; // the secrets were read at the start
        return forged(receiver, REFUSED);
      },
      line: { msg: 'request failed', status: 503, path: PATH, error: 'no disk' },
    },
    'genuine notifications cannot be recorded': {
      setup: { wrap: (store) => storeWith(store, { record: away }) },
      send: ({ app }) =>
        Array.from({ length: REFUSED }, (_, number) =>
          deliver(app, notification({ media_id: `m${number}` })),
        ),
      line: { msg: 'request failed', status: 503, path: PATH, error: 'no disk' },
    },
    'as many requests wait for their commit as may': {
      setup: { options: { maxWaitingAcks: 0 } },
      send: (receiver) => forged(receiver, REFUSED),
      line: { msg: 'request not served', status: 503, path: PATH, error: 'overloaded' },
    },
    'the service is shutting down': {
      setup: { options: { isDraining: () => true } },
      send: (receiver) => forged(receiver, REFUSED),
      line: { msg: 'request not served', status: 503, path: PATH, error: 'shutting down' },
    },
    'readiness is asked for at a stop': {
      setup: { options: { isDraining: () => true } },
      send: (receiver) => readiness(receiver, REFUSED),
      line: { msg: 'request not served', status: 503, path: '/readyz', error: 'shutting down' },
    },
    'the store breaks in a way that nobody foresaw': {
      setup: { wrap: (store) => storeWith(store, { record: () => Promise.reject(new TypeError('a bug')) }) },
      send: ({ app }) =>
        Array.from({ length: REFUSED }, (_, number) =>
          deliver(app, notification({ media_id: `m${number}` })),
        ),
      line: { msg: 'request failed', status: 500, path: PATH, error: 'a bug' },
    },
  };

  test.each(Object.entries(cases))('when %s', async (_what, { setup, send, line }) => {
    const receiver = await startStill(setup);
    expect(await statusesOf(send(receiver))).toEqual(new Set([line.status]));
    expect(shown(receiver.log)).toMatchObject(Array.from({ length: MOST }, () => ({ ...line, level: 50 })));
    receiver.still.advance(1000);
    const leftOut = REFUSED - MOST;
    const [counted, ...others] = shown(receiver.log).slice(MOST);
    expect(counted).toMatchObject({ level: 50, msg: LEFT_OUT, leftOut, failed: leftOut });
    expect(others).toEqual([]);
    expect(receiver.log.lines.join('')).not.toContain('stack');
  });

  test('when readiness is asked for and the store has just failed', async () => {
    const receiver = await startStill({ wrap: (store) => storeWith(store, { record: away }) });
    expect((await deliver(receiver.app, notification())).status).toBe(503);
    expect(await statusesOf(readiness(receiver, REFUSED))).toEqual(new Set([503]));
    const error = 'no disk'; // of the notification before
    expect(shown(receiver.log).slice(1)).toMatchObject(
      Array.from({ length: MOST - 1 }, () => ({ msg: 'request failed', path: '/readyz', error })),
    );
  });

  test('when the quarantine cannot keep them, with two lines left for failures', async () => {
    let attempts = 0;
    const receiver = await startStill({
      wrap: (store) =>
        storeWith(store, {
          quarantine: () => {
            attempts++;
            return away();
          },
        }),
    });
    expect(await statusesOf(forged(receiver, REFUSED))).toEqual(new Set([401]));
    await eventually('each was examined', () => attempts === REFUSED);
    await eventually('the failures have their lines', () => shown(receiver.log).length >= MOST);
    const lines = shown(receiver.log);
    expect(lines).toHaveLength(MOST);
    expect(new Set(lines.map(({ msg }) => msg))).toEqual(
      new Set(['notification refused', 'a refused notification could not be kept in quarantine']),
    );
  });
});

test('a failure has its line, when forgeries have used up all lines about refusals in the same second', async () => {
  const receiver = await startStill({ wrap: (store) => storeWith(store, { record: away }) });
  await Promise.all(forged(receiver, REFUSED));
  expect((await deliver(receiver.app, notification())).status).toBe(503);
  expect(receiver.log.withMessage('request failed')).toMatchObject([{ level: 50, error: 'no disk' }]);
});

test('readiness of a store that cannot commit leaves one line, without a stack, when it is asked for once', async () => {
  const { app, log } = await start({ wrap: (store) => storeWith(store, { ping: away }) });
  expect((await request(app).get('/readyz')).status).toBe(503);
  expect(shown(log)).toMatchObject([
    { msg: 'request failed', status: 503, path: '/readyz', error: 'no disk' },
  ]);
  expect(log.lines.join('')).not.toContain('stack');
});

test('requests that have no notification in them leave no line at the usual level, whatever is wrong with them', async () => {
  const { start: run, log } = await house();
  const { port } = await run({ BODY_LIMIT: '1024' });
  const impatient = await run({ HEADERS_TIMEOUT_MS: '100' });
  const post = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
  const requests: readonly (readonly [status: number, text: string])[] = [
    [404, 'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [404, 'GET /%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [405, `GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
    [405, 'DELETE /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [405, 'TRACE /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    [413, `${post}Authorization: Bearer x\r\nContent-Length: 2000\r\n\r\n`],
    [
      413,
      `${post}Authorization: Bearer x\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2000)}\r\n`,
    ],
    [401, `${post}Content-Length: 2\r\n\r\n{}`],
    [400, `${post}Authorization: Bearer x\r\nContent-Length: 1\r\n\r\n{`],
    [400, `${post}Authorization: Bearer x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\n{`],
    [400, 'no HTTP at all\r\n\r\n'],
    [400, `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    [417, `${post}Expect: more\r\nContent-Length: 2\r\n\r\n{}`],
    [431, `${post}X: ${'x'.repeat(100_000)}\r\n\r\n`],
  ];
  const late = [408, 'GET /healthz HTTP/1.1\r\nHost: x\r\n'] as const;
  for (const [status, text] of [...requests, late]) {
    const connection = await rawConnection(status === 408 ? impatient.port : port);
    connection.write(text);
    const answer = await connection.closed;
    expect([text.slice(0, 60), statusOf(answer)]).toEqual([text.slice(0, 60), status]);
  }
  for (const unfinished of ['', 'POST', post, `${post}Content-Length: 10\r\n\r\n{`]) {
    const connection = await rawConnection(port);
    connection.write(unfinished);
    connection.destroy();
    await connection.closed;
  }
  expect(shown(log)).toEqual([]);
});
