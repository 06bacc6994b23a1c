import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventId, isEventId } from '../../src/store/stored.ts';
import { runs } from '../support/sizes.ts';

const times = fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 });
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });

test('an event id tells the time of its event and the start of the digest, fit for a URL and a file name', () => {
  const property = fc.property(times, digests, (eventTime, digest) => {
    const id = eventId(eventTime, digest);
    expect(isEventId(id)).toBe(true);
    const [, time = '', start] = /^(-?[0-9a-z]{1,11})-([0-9a-f]{20})$/.exec(id) ?? [];
    expect(Number.parseInt(time, 36)).toBe(eventTime);
    expect(Buffer.from(digest).toString('hex').startsWith(String(start))).toBe(true);
  });
  fc.assert(property, { numRuns: runs(1000) });
});

const hex = 'a'.repeat(20);
test.each(['', `0-${hex}a`, `0-${hex.slice(1)}`, `0-${'g'.repeat(20)}`, `0-${hex}\n`])(
  'an event id is not %j',
  (text) => expect(isEventId(text)).toBe(false),
);
