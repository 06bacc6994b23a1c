import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { rawConnection, statusOf } from '../support/raw-http.ts';
import { type RunningService, runService } from '../support/running-service.ts';

const LIMIT = 65_536;
const TIMEOUT_MS = 500;

let service: RunningService;
let genuine = 0;
beforeAll(async () => {
  const env = {
    BODY_LIMIT: String(LIMIT),
    REJECT_LIMIT: '1000000',
    HEADERS_TIMEOUT_MS: String(TIMEOUT_MS),
    REQUEST_TIMEOUT_MS: String(TIMEOUT_MS),
  };
  service = await runService({}, env);
});
afterAll(() => service.stop());

/** What would tell a stranger where to look: code, paths, versions, products. */
const REVEALING =
  /node|express|helmet|jsonwebtoken|sqlite|better-|v8|stack|\bat \S+:\d+|\.[jt]s\b|\/(home|root|srv|app|usr|var|tmp|etc|opt)\b|(?<!HTTP\/)\b\d+\.\d+\.\d+\b|[A-Z][a-z]+Error|ENO[A-Z]+|ECONN/i;

const head = (line: string, ...headers: readonly string[]) =>
  Buffer.from(
    `${[`${line} HTTP/1.1`, 'Host: receiver', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`,
    'latin1',
  );
const post = (headers: readonly string[], body: string | Buffer = '') =>
  Buffer.concat([head('POST /webhooks/media', ...headers), Buffer.from(body)]);
/** A request with a body of its length. */
const sized = (body: string | Buffer, ...headers: readonly string[]) =>
  post([...headers, `Content-Length: ${Buffer.byteLength(body)}`], body);
/** A body with a token that is rightly signed for it, however odd it is. */
const signed = (body: string, ...headers: readonly string[]) =>
  sized(body, ...headers, `Authorization: Bearer ${tokenOf(body, SECRET)}`);
/** A body with a forged token over it. */
const forged = (body: string) => sized(body, `Authorization: Bearer ${tokenOf(body, 'made up')}`);
/** A notification with one more member, as large as may be. */
const filled = (before: string, filler: string, after: string) => {
  const start = `${bodyOf(0).slice(0, -1)},${before}`;
  return `${start}${filler.repeat((LIMIT - start.length - after.length - 1) / filler.length)}${after}}`;
};
const notUtf8 = (...bytes: readonly number[]) =>
  Buffer.concat([Buffer.from(`${bodyOf(0).slice(0, -1)},"note":"`), Buffer.from(bytes), Buffer.from('"}')]);
const BEARER = 'Authorization: Bearer x';

/** A request, and the status that it is answered with. */
type Odd = readonly [name: string, statuses: number | readonly number[], bytes: Buffer];
const requests: Readonly<Record<string, readonly Odd[]>> = {
  'of another path or method': [
    ['a path that is not there', 404, head('GET /nothing/here')],
    ['a path that cannot be decoded', [400, 404], head('GET /%E0%A4%A')],
    ['a path below the webhook', 404, head('POST /webhooks/media/extra')],
    ['what the admin listener has', 404, head('GET /metrics')],
    ['a GET that says that it is a POST', 405, head('GET /webhooks/media', 'X-HTTP-Method-Override: POST')],
  ],
  'that says two things to two readers': [
    [
      'a length and chunks',
      400,
      post(
        [BEARER, 'Content-Length: 4', 'Transfer-Encoding: chunked'],
        '0\r\n\r\nGET /admin HTTP/1.1\r\n\r\n',
      ),
    ],
    ['no HTTP', 400, Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03hello\r\n\r\n', 'latin1')],
  ],
  'with a body that is no notification': [
    ['no body', 400, post([BEARER, 'Content-Length: 0'])],
    ['a body over the limit', 413, post([BEARER, 'Content-Length: 99999999'])],
    ...['', 'null', '"a"', `[${bodyOf(0)}]`, bodyOf(0).slice(0, -1), '{}{}', `\ufeff${bodyOf(0)}`].map(
      (body): Odd => [`${body.slice(0, 9)}, rightly signed`, 400, signed(body)],
    ),
    ['a body that is not UTF-8', 400, sized(notUtf8(0xc3), BEARER)],
    ['a number that is infinite, rightly signed', 400, signed(`${bodyOf(0).slice(0, -1)},"note":[-1e999]}`)],
    ['nesting 30,000 deep', [400, 401], forged(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)],
  ],
  'that is expensive to read': [
    ['the largest forged notification', 401, forged(filled('"a":"', 'x', '"'))],
    ['one member very often', 401, forged(filled('"a":1', ',"a":1', ''))],
    ['headers beyond all limits', 431, post([BEARER, `X: ${'x'.repeat(2 * LIMIT + 50_000)}`])],
  ],
  'without an end': [
    ['headers that do not end', 408, Buffer.from('POST /webhooks/media HTTP/1.1\r\nHost: x\r\n')],
    ['a body that does not come', 408, post([BEARER, 'Content-Length: 100'], '{')],
    [
      'a body that goes on, of a path that is not there, on a connection that may stay open',
      404,
      Buffer.from('POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'),
    ],
  ],
};

describe.each(Object.entries(requests))('a request %s', (_what, cases) => {
  test.each(cases)('such as %s is answered %p, tells and leaves nothing', async (_, statuses, bytes) => {
    const connection = await rawConnection(service.port);
    connection.write(bytes);
    const answer = await connection.closed;
    expect([statuses].flat()).toContain(statusOf(answer));
    expect(answer).not.toMatch(REVEALING);
    expect(answer).not.toMatch(/^(server|x-powered-by|via|etag):/im);
    // Node's own answers have no body, or one chunk of nothing.
    const body = answer.split('\r\n\r\n')[1] ?? '';
    if (!['', '0'].includes(body)) expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
    expect((await deliver(service.url, bodyOf(++genuine))).status).toBe(200);
    expect(await service.store.queue.count({})).toBe(genuine);
  });
});

test('the headers of every answer are those of docs/security.md', async () => {
  const rows = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8').matchAll(
    /^\| `([\w-]+): ([^`]+)` \|/gm,
  );
  const documented = Object.fromEntries(
    [...rows].map(([, name = '', value = '']) => [name.toLowerCase(), value]),
  );
  expect(Object.keys(documented).length).toBeGreaterThan(5);
  const OF_THE_ANSWER =
    /^(allow|connection|content-length|content-type|date|keep-alive|retry-after|www-authenticate|x-request-id)$/;
  const answers = [
    await deliver(service.url, bodyOf(++genuine)),
    await deliver(service.url, 'no JSON'),
    ...(await Promise.all(
      ['/healthz', '/readyz', '/nowhere', '/webhooks/media'].map((path) => fetch(service.url + path)),
    )),
  ];
  for (const { headers } of answers) {
    const set = [...headers].filter(([name]) => !OF_THE_ANSWER.test(name));
    expect(Object.fromEntries(set)).toEqual(documented);
  }
});
