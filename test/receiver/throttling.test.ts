import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { deliver, notification, SECRET, send } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { type ReceiverFixture, receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const env = { REJECT_LIMIT: '3' };
const behindProxy = { env: { ...env, TRUST_PROXY: '1' } };

/** The statuses of forgeries, one after the other, each from its source as X-Forwarded-For has it. */
async function forge({ app }: ReceiverFixture, sources: readonly (string | undefined)[]): Promise<number[]> {
  const statuses = [];
  for (const source of sources) {
    const forged = deliver(app, notification(), 'not the secret');
    if (source !== undefined) forged.set('X-Forwarded-For', source);
    statuses.push((await forged).status);
  }
  return statuses;
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('a source that fails to verify', () => {
  test('gets 429 and Retry-After in place of 401, once it has failed over REJECT_LIMIT times', async () => {
    const receiver = await start({ env });
    expect(await forge(receiver, times(3, undefined))).toEqual([401, 401, 401]);
    const { status, body, headers } = await deliver(receiver.app, notification(), 'not the secret');
    expect([status, body]).toEqual([429, { error: 'too many notifications that cannot be verified' }]);
    expect([headers['retry-after'], headers['www-authenticate']]).toEqual(['60', undefined]);
  });

  test('is never throttled in what verifies, in whatever form, for a secret of a moment ago as well', async () => {
    const receiver = await start({ env });
    const { app, openAnother } = receiver;
    expect((await forge(receiver, times(5, undefined))).at(-1)).toBe(429);
    const text = JSON.stringify(notification());
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(notification()).reverse()));
    expect((await deliver(app, text)).body.status).toBe('accepted');
    expect((await send(app, reordered, `Bearer ${tokenOf(text, SECRET)}`)).body.status).toBe('duplicate');
    await (await openAnother()).secrets.add('2yW4KmiG', 'newer');
    expect((await deliver(app, notification({ media_id: 'other' }), 'newer')).status).toBe(200);
    expect(await forge(receiver, [undefined])).toEqual([429]);
  });

  test('gets its other answers as ever, which count as failures too', async () => {
    const { app } = await start({ env });
    const bearer = `Bearer ${tokenOf('{}', 'made up')}`;
    for (let count = 0; count < 3; count++) {
      expect((await send(app, '{}')).status).toBe(401);
      expect((await send(app, 'no JSON', bearer)).status).toBe(400);
      expect((await send(app, 'x'.repeat(70_000), bearer)).status).toBe(413);
    }
    expect((await send(app, '{}', bearer)).status).toBe(429);
  });

  test('starts again at 401, when a minute has passed', async () => {
    const clock = new VirtualClock();
    const receiver = await start({ env, clock });
    expect((await forge(receiver, times(4, undefined))).at(-1)).toBe(429);
    await clock.advance(59_000);
    expect(await forge(receiver, [undefined])).toEqual([429]);
    await clock.advance(1000);
    expect(await forge(receiver, [undefined])).toEqual([401]);
  });
});

describe('sources', () => {
  test.each([
    ['1', 'the port', ['203.0.113.7:40001', '203.0.113.7:40002', '203.0.113.7', '203.0.113.7:1']],
    ['1', 'the port of IPv6', ['[2001:db8::1]:443', '[2001:db8::1]:444', '2001:db8::1', '[2001:db8::1]']],
    ['1', 'an address of one /56', ['2001:db8:0:1::1', '2001:db8:0:2::1', '2001:db8:0:ff::', '2001:db8::9']],
    [
      '1',
      'invented ones in front',
      ['1.1.1.1, 192.0.2.1', '1.1.1.2, 192.0.2.1', '9, 192.0.2.1', '192.0.2.1'],
    ],
    ['0', 'X-Forwarded-For, which nobody trusted wrote', ['203.0.113.0', '203.0.113.1', '1.1.1.1', '::1']],
    [
      '2',
      'what is behind the entry of the outermost proxy',
      [1, 2, 3, 4].map((n) => `1.1.1.${n}, 192.0.2.1, ::${n}`),
    ],
  ])('with TRUST_PROXY %s count as one, when they differ by %s', async (TRUST_PROXY, _what, sources) => {
    const receiver = await start({ env: { ...env, TRUST_PROXY } });
    expect(await forge(receiver, sources)).toEqual([401, 401, 401, 429]);
  });

  test('count each for itself, when a trusted proxy tells them apart, by address or by /56', async () => {
    const receiver = await start(behindProxy);
    expect(await forge(receiver, times(4, '203.0.113.1'))).toEqual([401, 401, 401, 429]);
    expect(await forge(receiver, times(4, '2001:db8:0:100::1'))).toEqual([401, 401, 401, 429]);
    expect(await forge(receiver, ['203.0.113.2', '2001:db8::1', '203.0.113.1'])).toEqual([401, 401, 429]);
  });
});
