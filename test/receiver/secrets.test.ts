import { describe, expect, test } from '@jest/globals';
import { deliver, notification } from '../support/genuine.ts';
import { receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const of = (webhook_id: string, media_id = 'UUhbHm6C') => notification({ webhook_id, media_id });

describe('the secrets of a webhook', () => {
  test('all verify, when several are live, with 200 for each', async () => {
    const { app } = await start({ secrets: { one: ['old', 'newer', 'newest'] } });
    for (const secret of ['newest', 'old', 'newer']) {
      expect((await deliver(app, of('one', `by ${secret}`), secret)).body.status).toBe('accepted');
    }
  });

  test('verify nothing of another webhook, when each has its own, with 401', async () => {
    const { app } = await start({ secrets: { one: ['secret one'], two: ['secret two'] } });
    expect((await deliver(app, of('one'), 'secret two')).status).toBe(401);
    expect((await deliver(app, of('two'), 'secret one')).status).toBe(401);
    expect((await deliver(app, of('two'), 'secret two')).status).toBe(200);
  });

  test('verify nothing from their time on, when retired, with 401, while the others go on', async () => {
    const { app, store, keyring, clock } = await start({ secrets: { one: ['old', 'new'] } });
    await store.retireSecret('one', 'old', clock.now() + 60_000);
    await keyring.refresh();
    expect((await deliver(app, of('one', 'before'), 'old')).status).toBe(200);
    await clock.advance(60_000);
    expect((await deliver(app, of('one', 'after'), 'old')).status).toBe(401);
    expect((await deliver(app, of('one', 'after'), 'new')).status).toBe(200);
  });

  test('verify the next notification, when another process stored them a moment ago, with 200', async () => {
    const { app, openAnother } = await start({ secrets: { one: ['old'] } });
    const other = await openAnother();
    await other.addSecret('one', 'new');
    expect((await deliver(app, of('one'), 'new')).status).toBe(200);
    await other.addSecret('two', 'first of its webhook');
    expect((await deliver(app, of('two', 'other'), 'first of its webhook')).status).toBe(200);
  });

  test('may be any text, when stored sealed and read again, with 200', async () => {
    const odd = [
      'x',
      ' with spaces ',
      'ä😀',
      'a\u0000b',
      '-----BEGIN PUBLIC KEY-----\nMFkw',
      '{"k":1}',
      'x'.repeat(5000),
    ];
    const { app } = await start({ secrets: { one: odd } });
    for (const [index, secret] of odd.entries()) {
      expect((await deliver(app, of('one', `m${index}`), secret)).status).toBe(200);
    }
  });
});

describe('WEBHOOK_SECRET', () => {
  test('verifies for any webhook, when none has a stored secret, with 200', async () => {
    const { app } = await start({ secrets: {}, fallback: 'fallback' });
    for (const webhook of ['one', 'two', '__proto__', 'constructor']) {
      expect((await deliver(app, of(webhook, webhook), 'fallback')).status).toBe(200);
    }
  });

  test('verifies nothing for a webhook, when that has a stored secret, with 401', async () => {
    const { app } = await start({ secrets: { one: ['stored'] }, fallback: 'fallback' });
    expect((await deliver(app, of('one'), 'fallback')).status).toBe(401);
    expect((await deliver(app, of('one'), 'stored')).status).toBe(200);
    expect((await deliver(app, of('two', 'other'), 'fallback')).status).toBe(200);
  });

  test('verifies no longer for a webhook, when a secret was stored for it, with 401', async () => {
    const { app, store, keyring } = await start({ secrets: {}, fallback: 'fallback' });
    expect((await deliver(app, of('one', 'before'), 'fallback')).status).toBe(200);
    await store.addSecret('one', 'stored');
    await keyring.refresh();
    expect((await deliver(app, of('one', 'after'), 'fallback')).status).toBe(401);
  });

  test('is not there, when not set, and an empty secret verifies nothing, with 401', async () => {
    const { app } = await start({ secrets: {} });
    expect((await deliver(app, of('one'), '')).status).toBe(401);
    expect((await deliver(app, of('one'), 'undefined')).status).toBe(401);
  });
});
