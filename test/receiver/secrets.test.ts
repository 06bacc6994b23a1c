import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { keyringOf } from '../../src/receiver/keyring.ts';
import { deliver, notification } from '../support/genuine.ts';
import { receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const of = (webhook_id: string, media_id = 'UUhbHm6C') => notification({ webhook_id, media_id });
const FALLBACK = 'the secret of the environment';
const env = { WEBHOOK_SECRET: FALLBACK };

describe('the secrets of a webhook', () => {
  test('all verify, when several are live, whatever text they are', async () => {
    const secrets = ['x', ' with spaces ', 'ä😀', 'a\u0000b', '{"k":1}', 'x'.repeat(5000)];
    const { app } = await start({ secrets: { one: secrets } });
    for (const [index, secret] of secrets.entries())
      expect((await deliver(app, of('one', `m${index}`), secret)).body.status).toBe('accepted');
  });

  test('verify nothing from their time on, when retired, while the others go on', async () => {
    const { app, store, keyring, clock } = await start({ secrets: { one: ['old', 'new'] } });
    await store.secrets.retire('one', 'old', clock.now() + 60_000);
    await keyring.refresh();
    expect((await deliver(app, of('one', 'before'), 'old')).status).toBe(200);
    await clock.advance(60_000);
    expect((await deliver(app, of('one', 'after'), 'old')).status).toBe(401);
    expect((await deliver(app, of('one', 'after'), 'new')).status).toBe(200);
  });

  test('verify the very next notification, when another process stored them a moment ago', async () => {
    const { app, openAnother } = await start({ secrets: { one: ['old'] } });
    const other = await openAnother();
    for (const [webhook, secret] of [
      ['one', 'new'],
      ['two', 'first of its webhook'],
    ] as const) {
      await other.secrets.add(webhook, secret);
      expect((await deliver(app, of(webhook, secret), secret)).status).toBe(200);
    }
    await other.secrets.retire('one', 'old', 0);
    await other.secrets.add('one', 'old');
    expect((await deliver(app, of('one', 'again'), 'old')).status).toBe(200);
  });

  test('are looked at once for all refusals of a moment, at most every 50 milliseconds, and not for what verifies', async () => {
    const clock = new VirtualClock();
    let reads = 0;
    const all = async () => {
      reads++;
      return [];
    };
    const config = parseConfig({});
    const keyring = keyringOf({ store: { secrets: { all } }, clock, config, log: { error() {} } });
    await Promise.all([keyring.refresh(), keyring.refresh(), keyring.refresh()]);
    expect(reads).toBe(1);
    const later = Promise.all([keyring.refresh(), keyring.refresh()]);
    await clock.advance(49);
    expect(reads).toBe(1);
    await clock.advance(1);
    await later;
    expect(reads).toBe(2);
  });
});

describe('WEBHOOK_SECRET', () => {
  test('verifies for webhooks that never had a stored secret, whatever they are called', async () => {
    const { app } = await start({ secrets: { one: ['stored'] }, env });
    for (const webhook of ['two', '__proto__', 'constructor', ''])
      expect((await deliver(app, of(webhook, webhook), FALLBACK)).status).toBe(200);
    expect((await deliver(app, of('one'), FALLBACK)).status).toBe(401);
    expect((await deliver(app, of('one'), 'stored')).status).toBe(200);
  });

  test('verifies nothing for a webhook from its first stored secret on, though that is retired', async () => {
    const { app, store, keyring, clock } = await start({ secrets: {}, env });
    expect((await deliver(app, of('one', 'before'), FALLBACK)).status).toBe(200);
    await store.secrets.add('one', 'stored');
    await keyring.refresh();
    expect((await deliver(app, of('one', 'after'), FALLBACK)).status).toBe(401);
    await store.secrets.retire('one', 'stored', clock.now());
    await keyring.refresh();
    expect((await deliver(app, of('one', 'after'), FALLBACK)).status).toBe(401);
    expect((await deliver(app, of('one', 'after'), 'stored')).status).toBe(401);
  });
});

describe('a secret that begins with mock-, as everybody can compute it', () => {
  const secrets = { one: ['mock-1', 'another'] };
  const fallback = { WEBHOOK_SECRET: 'mock-2' };

  test('verifies, when nobody else reaches the service', async () => {
    const { app, log } = await start({ secrets, env: fallback });
    expect((await deliver(app, of('one'), 'mock-1')).status).toBe(200);
    expect((await deliver(app, of('two', 'other'), 'mock-2')).status).toBe(200);
    expect(log.lines.join('')).not.toContain('mock-');
  });

  const ways = [{ HOST: '0.0.0.0' }, { TRUST_PROXY: '1' }];
  test.each(ways)('verifies nothing and is logged once, when others reach it by %j', async (reachable) => {
    const { app, log, keyring } = await start({ secrets, env: { ...fallback, ...reachable } });
    expect((await deliver(app, of('one'), 'mock-1')).status).toBe(401);
    expect((await deliver(app, of('two'), 'mock-2')).status).toBe(401);
    expect((await deliver(app, of('one'), 'another')).status).toBe(200);
    await keyring.refresh();
    const message = 'this secret verifies nothing: it begins with mock-, so anybody can compute it';
    expect(log.withMessage(message)).toMatchObject([
      { level: 'error', setting: 'WEBHOOK_SECRET' },
      { level: 'error', webhook: 'one' },
    ]);
  });
});
