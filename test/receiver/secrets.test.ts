import { describe, expect, test } from '@jest/globals';
import { deliver, notification, sendWithToken } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

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

// What test/faults/timing.test.ts measures: if one of them read nothing, it would be answered sooner.
test('the secrets are read once for each notification that does not verify, whatever it is refused for', async () => {
  let reads = 0;
  const { app, store, clock, keyring } = await start({
    secrets: { one: ['secret'], two: ['secret', 'another'], retired: ['old'] },
    wrap: (real) =>
      storeWith(real, {
        secrets: () => {
          reads++;
          return real.secrets();
        },
      }),
  });
  await store.retireSecret('retired', 'old', clock.now());
  await keyring.refresh();
  const claims = JSON.stringify(of('one'));
  const usual = tokenOf(claims, 'made up');
  const refused: Record<string, [body: object, token: string]> = {
    'a webhook with a secret': [of('one'), usual],
    'a webhook with two': [of('two'), tokenOf(JSON.stringify(of('two')), 'made up')],
    'a webhook without one': [of('none'), tokenOf(JSON.stringify(of('none')), 'made up')],
    'a retired one': [of('retired'), tokenOf(JSON.stringify(of('retired')), 'old')],
    'claims that differ': [of('one', 'other'), usual],
    'claims that differ, of a webhook without a secret': [of('none', 'other'), usual],
    'another algorithm': [of('one'), tokenOf(claims, 'secret', { header: { alg: 'none' } })],
    'an unknown kind': [{ ...of('one'), event: 'unheard_of' }, usual],
    'one segment': [of('one'), 'x'.repeat(200)],
    'a signature cut off': [of('one'), usual.slice(0, -1)],
    'the right secret, of another webhook': [of('one'), tokenOf(claims, 'another')],
    'claims that differ, signed': [of('one', 'other'), tokenOf(claims, 'secret')],
  };
  const counts: Record<string, number> = {};
  for (const [what, [body, token]] of Object.entries(refused)) {
    const before = reads;
    expect((await sendWithToken(app, body, token)).status).toBe(401);
    counts[what] = reads - before;
  }
  expect(counts).toEqual(Object.fromEntries(Object.keys(refused).map((what) => [what, 1])));
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
