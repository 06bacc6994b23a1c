import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Keyring } from '../../src/receiver/keyring.ts';
import type { WebhookSecret } from '../../src/store/event-store.ts';

/** Secrets in memory; each read waits until it is answered, when `hold` is set. */
class FakeSecrets {
  list: WebhookSecret[] = [];
  reads = 0;
  failing = false;
  hold = false;
  #held: (() => void)[] = [];

  async secrets(): Promise<readonly WebhookSecret[]> {
    this.reads++;
    const seen = [...this.list];
    if (this.hold) await new Promise<void>((resolve) => this.#held.push(resolve));
    if (this.failing) throw new Error('no disk');
    return seen;
  }

  async webhooksWithOwnSecret(): Promise<readonly string[]> {
    return this.list.map(({ webhookId }) => webhookId);
  }

  answer(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }

  add(webhookId: string, secret: string, retireAt?: number): void {
    this.list = [...this.list, { webhookId, secret, createdAt: 0, retireAt }];
  }
}

function build(fallback?: string) {
  const store = new FakeSecrets();
  const clock = new VirtualClock(0);
  const keyring = new Keyring({ store, clock, fallback });
  return { store, clock, keyring };
}

/** Lets everything run that only waits for promises. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Which of some secrets a webhook's keys are. */
function secretsOf(keyring: Keyring, webhookId: string, candidates: readonly string[]): string[] {
  const macs = keyring.keysFor(webhookId).map((key) => createHmac('sha256', key).update('x').digest('hex'));
  return macs.map(
    (mac) => candidates.find((one) => createHmac('sha256', one).update('x').digest('hex') === mac) ?? '?',
  );
}

describe('a keyring', () => {
  test('holds no key, before it has read anything and without a fallback', () => {
    expect(build().keyring.keysFor('one')).toEqual([]);
  });

  test('holds the keys of each webhook, once started, oldest first', async () => {
    const { store, keyring } = build();
    store.add('one', 'a');
    store.add('two', 'b');
    store.add('one', 'c');
    await keyring.start();
    expect(secretsOf(keyring, 'one', ['a', 'b', 'c'])).toEqual(['a', 'c']);
    expect(secretsOf(keyring, 'two', ['a', 'b', 'c'])).toEqual(['b']);
    expect(keyring.keysFor('three')).toEqual([]);
  });

  test('gives the fallback, when a webhook has no stored secret, and only then', async () => {
    const { store, keyring } = build('fallback');
    store.add('one', 'a');
    await keyring.start();
    expect(secretsOf(keyring, 'one', ['a', 'fallback'])).toEqual(['a']);
    expect(secretsOf(keyring, 'two', ['a', 'fallback'])).toEqual(['fallback']);
  });

  test('refuses to be made, when the fallback is empty, with a RangeError', () => {
    expect(() => build('')).toThrow(RangeError);
  });

  test('makes a key once, however often it reads, and gives the same one', async () => {
    const { store, clock, keyring } = build();
    store.add('one', 'a');
    await keyring.start();
    const before = keyring.keysFor('one');
    await clock.advance(5000);
    expect(store.reads).toBeGreaterThan(1);
    expect(keyring.keysFor('one')[0]).toBe(before[0]);
  });

  test('leaves a secret out from its time on, when it is retired, without reading again', async () => {
    const { store, clock, keyring } = build();
    store.add('one', 'old', 700);
    store.add('one', 'new');
    await keyring.start();
    await clock.advance(699);
    expect(secretsOf(keyring, 'one', ['old', 'new'])).toEqual(['old', 'new']);
    await clock.advance(1);
    expect(secretsOf(keyring, 'one', ['old', 'new'])).toEqual(['new']);
    expect(store.reads).toBe(1);
  });

  test('notices a retirement within a second, when another process made it, by itself', async () => {
    const { store, clock, keyring } = build();
    store.add('one', 'a');
    await keyring.start();
    store.list = [];
    await clock.advance(1000);
    await settled();
    expect(keyring.keysFor('one')).toEqual([]);
  });

  test('goes on reading every second, when a read fails, and keeps what it holds meanwhile', async () => {
    const { store, clock, keyring } = build();
    store.add('one', 'a');
    await keyring.start();
    store.failing = true;
    await clock.advance(3000);
    expect(secretsOf(keyring, 'one', ['a'])).toEqual(['a']);
    store.failing = false;
    store.add('two', 'b');
    await clock.advance(1000);
    await settled();
    expect(secretsOf(keyring, 'two', ['b'])).toEqual(['b']);
  });

  test('reads no more, once stopped, whatever time passes', async () => {
    const { store, clock, keyring } = build();
    await keyring.start();
    await clock.advance(1000);
    await settled();
    keyring.stop();
    const { reads } = store;
    await clock.advance(60_000);
    expect(store.reads).toBe(reads);
  });

  test('reads no more, when stopped while a read of the poll is under way', async () => {
    const { store, clock, keyring } = build();
    await keyring.start();
    store.hold = true;
    const advancing = clock.advance(1000);
    await settled();
    keyring.stop();
    store.answer();
    await advancing;
    store.hold = false;
    const { reads } = store;
    await clock.advance(60_000);
    await settled();
    expect(store.reads).toBe(reads);
  });
});

test('a keyring counts a secret as absent, when it is worthless here, the fallback too, and takes all others', async () => {
  const store = new FakeSecrets();
  store.add('one', 'weak-1');
  store.add('one', 'a');
  store.add('two', 'weak-2');
  const isWorthless = (secret: string) => secret.startsWith('weak');
  const keyring = new Keyring({ store, clock: new VirtualClock(0), fallback: 'weak-3', isWorthless });
  const found: (readonly string[])[] = [];
  keyring.onAdded = (webhooks) => found.push(webhooks);
  await keyring.start();
  keyring.stop();
  expect(secretsOf(keyring, 'one', ['weak-1', 'a'])).toEqual(['a']);
  expect([keyring.keysFor('two'), keyring.keysFor('three'), keyring.everyKey(2)?.length]).toEqual([
    [],
    [],
    1,
  ]);
  expect(found).toEqual([['one']]);
});

describe('a refresh', () => {
  test('reads the store once, when many ask at the same time, and all of them get what it found', async () => {
    const { store, clock, keyring } = build();
    await keyring.start();
    store.add('one', 'a');
    const asked = Promise.all(Array.from({ length: 100 }, () => keyring.refresh()));
    await clock.advance(50);
    await asked;
    expect(store.reads).toBe(2);
    expect(secretsOf(keyring, 'one', ['a'])).toEqual(['a']);
  });

  test('begins after it was asked for, when another read is under way, so that it sees what was stored by then', async () => {
    const { store, clock, keyring } = build();
    store.hold = true;
    const first = keyring.refresh();
    await settled();
    store.add('one', 'a');
    const second = keyring.refresh();
    await clock.advance(50);
    store.answer();
    await first;
    expect(keyring.keysFor('one')).toEqual([]);
    await settled();
    store.answer();
    await second;
    expect(secretsOf(keyring, 'one', ['a'])).toEqual(['a']);
    expect(store.reads).toBe(2);
  });

  test('waits for 50 ms after the read before it, when asked again and again, however many fail to verify', async () => {
    const { store, clock, keyring } = build();
    await keyring.start();
    keyring.stop();
    for (let step = 0; step < 100; step++) {
      keyring.refresh();
      await clock.advance(10);
      await settled();
    }
    expect(store.reads).toBeLessThanOrEqual(1 + 1000 / 50);
    expect(store.reads).toBeGreaterThan(10);
  });

  test('rejects, when the store fails, and the next one reads again', async () => {
    const { store, clock, keyring } = build();
    await keyring.start();
    store.failing = true;
    const failing = expect(keyring.refresh()).rejects.toThrow('no disk');
    await clock.advance(50);
    await failing;
    store.failing = false;
    store.add('one', 'a');
    const next = keyring.refresh();
    await clock.advance(50);
    await next;
    expect(secretsOf(keyring, 'one', ['a'])).toEqual(['a']);
  });

  test('tells of secrets that were not held before, when it finds some, once each', async () => {
    const { store, clock, keyring } = build();
    store.add('one', 'a');
    await keyring.start();
    let told = 0;
    keyring.onAdded = () => {
      told++;
    };
    await clock.advance(3000);
    expect(told).toBe(0);
    store.add('one', 'b');
    await clock.advance(3000);
    expect(told).toBe(1);
    store.list = [];
    await clock.advance(3000);
    expect(told).toBe(1);
  });

  test('holds what it can, when one stored secret is empty, and verifies nothing with that one', async () => {
    const { store, keyring } = build();
    store.add('one', '');
    store.add('two', 'b');
    await keyring.start();
    expect(keyring.keysFor('one')).toEqual([]);
    expect(secretsOf(keyring, 'two', ['b'])).toEqual(['b']);
  });
});
