import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Takeover } from '../../src/dispatch/takeover.ts';

const LEASE_MS = 30_000;

function start(leaseMs = LEASE_MS) {
  const clock = new VirtualClock();
  const takeover = new Takeover(clock, leaseMs);
  return { clock, takeover, reached: () => takeover.reached(clock.now()) };
}

test('taking over is allowed, when the store answers all the time', async () => {
  const { clock, takeover, reached } = start();
  for (let second = 0; second < 100; second++) {
    expect(takeover.isAllowed()).toBe(true);
    reached();
    await clock.advance(1000);
  }
});

test('taking over is put off for a lease, when the store was out of reach for half of one, and then allowed', async () => {
  const { clock, takeover, reached } = start();
  await clock.advance(LEASE_MS / 2 + 1);
  expect(takeover.isAllowed()).toBe(false);
  reached();
  for (let rest = LEASE_MS; rest > 0; rest -= 1000) {
    expect(takeover.isAllowed()).toBe(false);
    reached();
    await clock.advance(1000);
  }
  expect(takeover.isAllowed()).toBe(true);
});

test('taking over is put off again, when the store goes out of reach again meanwhile', async () => {
  const { clock, takeover, reached } = start();
  await clock.advance(LEASE_MS);
  expect(takeover.isAllowed()).toBe(false);
  await clock.advance(LEASE_MS - 1);
  expect(takeover.isAllowed()).toBe(false);
  reached();
  await clock.advance(LEASE_MS / 2);
  reached();
  expect(takeover.isAllowed()).toBe(false);
  await clock.advance(LEASE_MS / 2);
  expect(takeover.isAllowed()).toBe(true);
});

test('taking over is allowed, when leases are shorter than any stall, after a stall of a second', async () => {
  const { clock, takeover } = start(100);
  await clock.advance(1000);
  expect(takeover.isAllowed()).toBe(true);
});

test('taking over leaves no timer behind, when it is stopped', async () => {
  const { clock, takeover } = start();
  await clock.advance(LEASE_MS);
  takeover.isAllowed();
  takeover.stop();
  expect(clock.nextDue()).toBeUndefined();
});

test('taking over is put off, when the clock is put forward while the store is asked, at the next time', async () => {
  const { clock, takeover } = start();
  const askedAt = clock.now();
  await clock.advance(86_400_000);
  takeover.reached(askedAt);
  expect(takeover.isAllowed()).toBe(false);
});
