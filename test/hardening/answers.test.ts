import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { send } from '../support/genuine.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { rawConnection, statusOf } from '../support/raw-http.ts';
import { receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';
import { type RunningService, runService } from '../support/running-service.ts';

const startReceiver = receiversForEachTest();
let service: RunningService;

beforeAll(async () => {
  const env = { HEADERS_TIMEOUT_MS: '200', REQUEST_TIMEOUT_MS: '200' };
  service = await runService({}, env, { threads: OWN_THREADS });
});
afterAll(() => service.dispose());

/** Sends bytes on a connection of their own and gives back all that comes until it is closed. */
async function exchange(bytes: string): Promise<string> {
  const connection = await rawConnection(service.port);
  connection.write(Buffer.from(bytes, 'latin1'));
  return connection.closed;
}

const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`;
const to = (path: string, method = 'POST') => [`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close'];
const hook = to('/webhooks/media');

/** Requests that are answered by the app, or by Node's parser before the app sees them. */
const ERRORS: readonly (readonly [string, number, string])[] = [
  ['a path that is not there', 404, lines(...to('/nothing/here', 'GET'))],
  ['a path that cannot be decoded', 404, lines(...to('/%E0%A4%A', 'GET'))],
  ['a path that climbs', 404, lines(...to('/../../etc/passwd', 'GET'))],
  ['another method', 405, lines(...to('/webhooks/media', 'DELETE'))],
  ['TRACE', 405, lines(...to('/webhooks/media', 'TRACE'), 'X-Secret: echo')],
  ['OPTIONS', 405, lines(...to('/webhooks/media', 'OPTIONS'), 'Origin: https://evil.example')],
  ['POST on the health check', 405, lines(...to('/healthz'))],
  ['no token', 401, `${lines(...hook, 'Content-Length: 2')}{}`],
  ['no JSON', 400, `${lines(...hook, 'Authorization: Bearer x', 'Content-Length: 4')}/etc`],
  [
    'a token that does not verify',
    401,
    `${lines(...hook, 'Authorization: Bearer x', 'Content-Length: 2')}{}`,
  ],
  ['a body over the limit', 413, lines(...hook, 'Authorization: Bearer x', 'Content-Length: 99999999')],
  [
    'an unknown compression',
    400,
    `${lines(...hook, 'Authorization: Bearer x', 'Content-Encoding: y', 'Content-Length: 2')}{}`,
  ],
  ['an expectation that nobody knows', 417, lines(...hook, 'Expect: a-miracle', 'Content-Length: 2')],
  ['no HTTP', 400, 'hello\r\n\r\n'],
  ['an unknown method', 400, lines(...to('/', 'BREW'))],
  ['a request of TLS', 400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['a header without a colon', 400, lines(...hook, 'no colon')],
  ['a zero byte in a header', 400, lines(...hook, 'X: \0')],
  ['no Host', 400, 'GET / HTTP/1.1\r\n\r\n'],
  ['headers beyond all limits', 431, lines(...hook, `X: ${'x'.repeat(104_000)}`)],
  [
    'a chunk that is none',
    400,
    `${lines(...hook, 'Authorization: Bearer x', 'Transfer-Encoding: chunked')}zz\r\n`,
  ],
  ['headers that do not end', 408, 'POST /webhooks/media HTTP/1.1\r\nHost: x\r\n'],
];

/** What would tell an attacker where to look: code, paths, versions, products. */
const REVEALING =
  /node|express|helmet|jsonwebtoken|sqlite|better-|v8|stack|\bat \S+:\d+|\.[jt]s\b|\/(home|root|srv|app|usr|var|tmp|etc|opt)\b|(?<!HTTP\/)\b\d+\.\d+\.\d+\b|[A-Z][a-z]+Error|ENO[A-Z]+|ECONN/i;

describe('an error answer', () => {
  test.each(ERRORS)('to %s says %i and nothing of what is inside', async (_what, status, bytes) => {
    const answer = await exchange(bytes);
    expect(statusOf(answer)).toBe(status);
    expect(answer).not.toMatch(REVEALING);
    expect(answer).not.toMatch(/^(server|x-powered-by|via|etag):/im);
    const body = answer.split('\r\n\r\n')[1] ?? '';
    // Node's own answers have no body, or one chunk of nothing.
    if (!['', '0'].includes(body)) expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
  });

  test('to a source that failed too often says 429, when to come again, and nothing of what is inside', async () => {
    const forged = `${lines(...hook, 'Authorization: Bearer x', 'Content-Length: 2')}{}`;
    const answers = [];
    for (let count = 0; count < 61; count++) answers.push(await exchange(forged));
    const last = answers.at(-1) ?? '';
    expect(statusOf(last)).toBe(429);
    expect(last).toMatch(/^Retry-After: 60\r$/m);
    expect(last).not.toMatch(REVEALING);
    expect(last).not.toMatch(/^(x-)?ratelimit/im);
  });

  test.each([
    [new Error('cannot open /srv/app/data/receiver.db at Object.<anonymous> (/srv/app/src/x.ts:1:1)'), 500],
    [new TypeError("Cannot read properties of undefined (reading 'x')"), 500],
    ['a text that was thrown', 500],
  ])('after a fault inside, %s, says no more than that there was one, with %i', async (fault, status) => {
    const { app } = await startReceiver({
      wrap: (store) => storeWith(store, { record: () => Promise.reject(fault) }),
    });
    const text = bodyOf(1).replace('hook0001', '2yW4KmiG');
    const { tokenOf } = await import('../support/hs256.ts');
    const response = await send(
      app,
      text,
      `Bearer ${tokenOf(text, 'a-secret-of-at-least-thirty-two-bytes')}`,
    );
    expect([response.status, response.text]).toEqual([status, '{"error":"internal error"}']);
  });
});

describe('the headers of an answer', () => {
  const documented = () => {
    const text = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `([\w-]+): ([^`]+)` \|/gm)];
    return Object.fromEntries(rows.map(([, name = '', value = '']) => [name.toLowerCase(), value]));
  };
  /** What HTTP itself, or the answer at hand, needs. */
  const OF_THE_ANSWER = [
    'allow',
    'connection',
    'content-length',
    'content-type',
    'date',
    'keep-alive',
    'retry-after',
    'www-authenticate',
    'x-request-id',
  ];

  test('are those of docs/security.md and no others, whatever the answer is', async () => {
    expect(Object.keys(documented()).length).toBeGreaterThan(5);
    const answers = [
      await deliver(service.url, bodyOf(1)),
      await deliver(service.url, 'no JSON'),
      await fetch(`${service.url}/healthz`),
      await fetch(`${service.url}/readyz`),
      await fetch(`${service.url}/nowhere`),
      await fetch(`${service.url}/webhooks/media`),
    ];
    for (const { headers } of answers) {
      const set = [...headers].filter(([name]) => !OF_THE_ANSWER.includes(name));
      expect(Object.fromEntries(set)).toEqual(documented());
    }
  });
});
