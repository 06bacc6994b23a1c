import { createServer } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { reach } from '../../src/provider/check-urls.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { answeringServers } from '../support/answering-servers.ts';

const answering = answeringServers();

describe('a URL', () => {
  const challenge = { 'WWW-Authenticate': 'Bearer' };
  test.each([
    ['a receiver of ours', 401, challenge, '{"error":"..."}', 'ok'],
    ['a receiver that stops', 503, {}, '{"error":"shutting down"}', 'warn'],
    ['a 401 of somebody else', 401, { 'WWW-Authenticate': 'Basic' }, '', 'FAIL'],
    ['a 401 with other words', 401, challenge, '{"message":"no"}', 'FAIL'],
    ['a receiver that takes anything', 200, {}, 'ok', 'FAIL'],
    ['a proxy without its service', 502, {}, 'Bad Gateway', 'FAIL'],
    ['a redirect', 308, { Location: 'https://else.where/' }, '', 'FAIL'],
  ])('is judged, when it leads to %s', async (_case, status, headers, body, result) => {
    expect((await reach(await answering(status, headers, body))).result).toBe(result);
  });

  test('fails with the reason, when no server listens there', async () => {
    const { url, close } = await listeningOn(createServer());
    await close();
    expect(await reach(url)).toMatchObject({
      result: 'FAIL',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  });
});
