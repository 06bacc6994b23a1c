import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { describeWith } from '../support/tools.ts';
import { NginxHere, type Sent } from './nginx-here.ts';

const shipped = readFileSync(new URL('../../deploy/nginx/receiver.conf', import.meta.url), 'utf8');

/** A notification of so many bytes, signed. */
function sized(size: number, secret = SECRET): Sent {
  const short = JSON.stringify(notification({ media_id: `m${size}`, note: '' }));
  const body = short.replace('"note":""', `"note":"${'x'.repeat(size - short.length)}"`);
  expect(body).toHaveLength(size);
  return { method: 'POST', headers: { authorization: `Bearer ${tokenOf(body, secret)}` }, body };
}

describeWith('nginx', 'nginx in front of a receiver, with the file in deploy/nginx/', () => {
  let inspected: Inspected;
  let isAway = false;
  let nginx: NginxHere;

  beforeAll(async () => {
    inspected = await inspect({}, { TRUST_PROXY: '1', REJECT_LIMIT: '5' });
    nginx = await NginxHere.prepare(shipped, [['127.0.0.1:3000', `127.0.0.1:${inspected.service.port}`]]);
    await nginx.start();
  });
  afterAll(async () => {
    await nginx.stop();
    if (!isAway) await inspected.dispose();
  });

  test('finds nothing to say against the file, when it is asked to test it', async () => {
    const { said, code } = await nginx.check();
    expect(said).not.toMatch(/warn|emerg|error\]/);
    expect(code).toBe(0);
  });

  test.each([
    ['small', 1000, 1, 200],
    ['the largest, with a token of 87 KB', 65_536, 1, 200],
    ['from a slow client', 60_000, 300, 200],
    ['too large by a byte', 65_537, 1, 413],
  ])('hands a notification on, or refuses it, when it is %s', async (_what, size, pieces, status) => {
    const answer = await nginx.ask(PATH, { ...sized(size), pieces });
    expect(answer.status).toBe(status);
    if (status === 200) expect(JSON.parse(answer.body).status).toBe('accepted');
  });

  test('tells who sends, when senders claim to be others: they are throttled as the one that they are', async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 8; n++) {
      const { headers, ...rest } = sized(500 + n, 'the-wrong-secret');
      const forged = { ...headers, 'x-forwarded-for': `203.0.113.${n}` };
      statuses.push((await nginx.ask(PATH, { ...rest, headers: forged })).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    const { rejections } = await inspected.api('/rejections');
    expect(new Set(rejections.map(({ source }: { source: string }) => source))).toEqual(
      new Set(['127.0.0.1']),
    );
    expect((await nginx.ask(PATH, sized(600))).status).toBe(200);
  });

  test.each(['/', '/readyz', '/metrics', '/api/stats', `${PATH}/`, `${PATH}x`])(
    'leads to nothing else, when %s is asked for',
    async (path) => {
      expect((await nginx.ask(path)).status).toBe(404);
    },
  );

  test('says that nothing was recorded, and when to try again, when the receiver is away', async () => {
    await inspected.dispose();
    isAway = true;
    for (const size of [600, 65_536])
      expect(await nginx.ask(PATH, sized(size))).toEqual({
        status: 503,
        retryAfter: '5',
        body: '{"error":"not recorded"}',
      });
  });
});
