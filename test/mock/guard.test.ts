import { request } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { useStage } from '../support/stage.ts';

const stage = useStage();

function statusFor(headers: Record<string, string>, path = '/_mock/clock'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${stage.mock.url}${path}`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('the control routes', () => {
  test.each([
    'localhost:4010',
    'localhost',
    '127.0.0.1:4010',
    '[::1]:4010',
    'mock.localhost:4010',
    '192.168.1.5:4010',
  ])('answer, when Host is %s, with 200', async (host) => {
    expect(await statusFor({ Host: host })).toBe(200);
  });

  test.each([
    'evil.example:4010',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example@localhost/',
  ])('refuse, when Host is %j, with 403', async (host) => {
    expect(await statusFor({ Host: host })).toBe(403);
  });

  test.each(['https://evil.example', 'null', 'http://localhost.evil.example:4010'])(
    'refuse, when a page of %s sends a browser, with 403',
    async (origin) => {
      expect(await statusFor({ Host: 'localhost', Origin: origin })).toBe(403);
    },
  );

  test('answer, when a page of this machine sends a browser, with 200', async () => {
    expect(await statusFor({ Host: 'localhost', Origin: 'http://localhost:3001' })).toBe(200);
  });
});

describe('the webhooks API', () => {
  test('answers, when Host is another name, as behind a proxy or in a container', async () => {
    expect(await statusFor({ Host: 'mock.example', Authorization: 'mock-api-secret' }, '/v2/webhooks')).toBe(
      200,
    );
  });
});
