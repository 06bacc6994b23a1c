import { describe, expect, test } from '@jest/globals';
import request, { type Response } from 'supertest';
import { deliver, notification, PATH, SECRET, send } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { only } from '../support/only.ts';
import { exchange, postText, statusOf } from '../support/raw-http.ts';
import { receiverForAllTests, receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const genuine = `Bearer ${tokenOf(JSON.stringify(notification()), SECRET)}`;

function answerOf({ status, body }: Response): unknown {
  return [status, body];
}

const shared = receiverForAllTests();

describe('the webhook path', () => {
  test.each(['get', 'put', 'patch', 'delete', 'options'] as const)(
    'refuses a request, when its method is %s, with 405 and Allow',
    async (method) => {
      const { app, events } = shared();
      const response = await request(app)
        [method](PATH)
        .set('Authorization', genuine)
        .send(JSON.stringify(notification()));
      expect(answerOf(response)).toEqual([405, { error: 'only POST is allowed here' }]);
      expect(response.headers.allow).toBe('POST');
      expect(await events()).toEqual([]);
    },
  );

  test('refuses a request, when its method is HEAD, with 405, Allow and no body', async () => {
    const { app } = shared();
    const response = await request(app).head(PATH);
    expect([response.status, response.headers.allow, response.text]).toEqual([405, 'POST', undefined]);
  });

  test('refuses a notification, when the service is shutting down, with 503, Retry-After and nothing recorded', async () => {
    const { app, events } = await start({ options: { isDraining: () => true } });
    const response = await deliver(app, notification());
    expect(answerOf(response)).toEqual([503, { error: 'shutting down' }]);
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(await events()).toEqual([]);
  });

  test('closes the connection, when the service is shutting down, though the sender would keep it, with 503', async () => {
    const { app } = await start({ options: { isDraining: () => true } });
    const text = JSON.stringify(notification());
    const headers = [`Authorization: ${genuine}`, `Content-Length: ${text.length}`];
    const answer = await exchange(app, postText(PATH, headers, text, 'keep-alive'));
    expect(statusOf(answer)).toBe(503);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });

  test('refuses a notification, when its body is one byte over the limit, with 413', async () => {
    const text = JSON.stringify(notification());
    const { app, events } = await start({ options: { bodyLimit: text.length - 1 } });
    expect(answerOf(await deliver(app, text))).toEqual([413, { error: 'the body is too large' }]);
    expect(await events()).toEqual([]);
  });

  test('accepts a notification, when its body is exactly as large as allowed, with 200', async () => {
    const text = JSON.stringify(notification());
    const { app } = await start({ options: { bodyLimit: text.length } });
    expect((await deliver(app, text)).status).toBe(200);
  });

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    `Bearer ${tokenOf('{}', SECRET)} `.repeat(2),
    'Basic dXNlcjpwYXNz',
    'Digest x',
    `Bearer: ${tokenOf('{}', SECRET)}`,
    `Token ${tokenOf('{}', SECRET)}`,
    tokenOf('{}', SECRET),
    SECRET,
  ])('refuses a notification, when its Authorization is %p, with 401 and WWW-Authenticate', async (value) => {
    const { app, events } = shared();
    const response = await send(app, JSON.stringify(notification()), value);
    const error = 'an Authorization header of the form "Bearer TOKEN" is needed';
    expect(answerOf(response)).toEqual([401, { error }]);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(await events()).toEqual([]);
  });

  test.each([
    ['', 'the body is not valid JSON'],
    ['{', 'the body is not valid JSON'],
    ['text', 'the body is not valid JSON'],
    ['[]', 'the body is not a JSON object'],
    ['null', 'the body is not a JSON object'],
    ['"text"', 'the body is not a JSON object'],
    ['1', 'the body is not a JSON object'],
    ['{"event":"a","event":"b"}', 'the body is ambiguous: a member appears twice in one object'],
    ['{"n":9007199254740993}', 'the body is inexact: a number is beyond double precision'],
    [`{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 'the body is nested deeper than 64 levels'],
  ])('refuses a notification, when its body is %j, with 400 and why', async (body, error) => {
    const { app, events } = shared();
    expect(answerOf(await send(app, body, genuine))).toEqual([400, { error }]);
    expect(await events()).toEqual([]);
  });

  test.each([
    ['with a byte order mark', Buffer.from('\ufeff{}')],
    ['in Latin-1', Buffer.from('{"media_id":"ä"}', 'latin1')],
    ['in UTF-16', Buffer.from('{}', 'utf16le')],
  ])('refuses a notification, when its body is %s, with 400', async (_how, body) => {
    const { app } = shared();
    expect((await send(app, body, genuine)).status).toBe(400);
  });

  test('refuses a notification, when it is forged, with 401, WWW-Authenticate and nothing recorded', async () => {
    const { app, events } = shared();
    const response = await deliver(app, notification(), 'not the secret');
    expect(answerOf(response)).toEqual([401, { error: 'the notification could not be verified' }]);
    expect(response.headers['www-authenticate']).toBe('Bearer');
    expect(await events()).toEqual([]);
  });

  test('accepts a notification, when it is new, with 200 and the id of the event that is on disk', async () => {
    const { app, events, openAnother } = await start();
    const response = await deliver(app, notification());
    const stored = only(await events());
    expect(answerOf(response)).toEqual([200, { status: 'accepted', id: stored.id }]);
    expect(response.text).toBe(JSON.stringify({ status: 'accepted', id: stored.id }));
    expect(response.type).toBe('application/json');
    expect(await (await openAnother()).event(stored.id)).toEqual(stored);
  });

  test('acknowledges a notification, when it was seen before, with 200, duplicate and the same id', async () => {
    const { app, events } = await start();
    const { id } = (await deliver(app, notification())).body;
    const response = await deliver(app, notification());
    expect(response.text).toBe(JSON.stringify({ status: 'duplicate', id }));
    expect(response.status).toBe(200);
    expect(only(await events())).toMatchObject({ id, deliveries: 2 });
  });

  test.each(['bearer', 'BEARER', 'Bearer  '])(
    'accepts a notification, when the scheme is written %p, with 200',
    async (scheme) => {
      const { app } = await start();
      const text = JSON.stringify(notification());
      expect((await send(app, text, `${scheme} ${tokenOf(text, SECRET)}`)).status).toBe(200);
    },
  );
});
