import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { deliver, notification, PATH, SECRET, send } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const forged = `Bearer ${tokenOf('{}', 'not the secret')}`;
const tooLarge = `{"a":"${'x'.repeat(2000)}"}`;

describe('the order of the checks', () => {
  test('puts the method first: a GET, when the service shuts down and the body is too large, gets 405', async () => {
    const { app } = await start({ options: { isDraining: () => true, bodyLimit: 1000 } });
    expect((await request(app).put(PATH).send(tooLarge)).status).toBe(405);
    expect((await request(app).get(PATH)).status).toBe(405);
  });

  test('puts shutting down next: a body that is too large, when nothing is authorised either, gets 503', async () => {
    const { app } = await start({ options: { isDraining: () => true, bodyLimit: 1000 } });
    expect((await send(app, tooLarge)).status).toBe(503);
    expect((await send(app, 'no JSON', forged)).status).toBe(503);
  });

  test('puts the size next: a body that is too large, when there is no Authorization, gets 413', async () => {
    const { app } = await start({ options: { bodyLimit: 1000 } });
    expect((await send(app, tooLarge)).status).toBe(413);
    expect((await send(app, 'x'.repeat(2000))).status).toBe(413);
    expect((await send(app, tooLarge, forged)).status).toBe(413);
  });

  test('puts Authorization next: a body that is no JSON, when there is none, gets 401', async () => {
    const { app } = await start();
    expect((await send(app, 'no JSON')).status).toBe(401);
    expect((await send(app, '')).status).toBe(401);
    expect((await send(app, '[]', 'Basic dXNlcjpwYXNz')).status).toBe(401);
  });

  test.each([
    ['gzip', Buffer.from('this is no gzip')],
    ['gzip', gzipSync('{}').subarray(0, 12)],
    ['compress', Buffer.from('{}')],
  ])(
    'puts Authorization before reading: a body in broken or unknown %s, when there is none, gets 401',
    async (encoding, body) => {
      const { app } = await start();
      const response = await request(app).post(PATH).set('Content-Encoding', encoding).send(body);
      expect(response.status).toBe(401);
      expect(response.headers['www-authenticate']).toBe('Bearer');
    },
  );

  test('puts the body next: one that is no JSON, when the token is forged too, gets 400', async () => {
    const { app } = await start();
    expect((await send(app, 'no JSON', forged)).status).toBe(400);
    expect((await send(app, '', forged)).status).toBe(400);
    expect((await send(app, '[]', 'Bearer x')).status).toBe(400);
  });

  test('puts verification before what is known: a repeat, when its token is forged, gets 401 and counts for nothing', async () => {
    const { app, events } = await start();
    await deliver(app, notification());
    expect((await deliver(app, notification(), 'not the secret')).status).toBe(401);
    expect(await events()).toMatchObject([{ deliveries: 1 }]);
  });

  test('asks the store for nothing, when a request is refused before it is verified', async () => {
    const asked: string[] = [];
    const { app } = await start({
      options: { bodyLimit: 1000 },
      wrap: (store) =>
        storeWith(store, {
          record(...given) {
            asked.push('record');
            return store.record(...given);
          },
          quarantine(...given) {
            asked.push('quarantine');
            return store.quarantine(...given);
          },
        }),
    });
    await request(app).get(PATH);
    await send(app, tooLarge, forged);
    await send(app, '{}');
    await send(app, 'no JSON', forged);
    expect(asked).toEqual([]);
    await deliver(app, notification(), SECRET);
    expect(asked).toEqual(['record']);
  });
});
