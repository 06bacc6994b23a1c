import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventId, isEventId } from '../../src/store/event-id.ts';
import { runs } from '../support/sizes.ts';

const times = fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 });
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('an event id', () => {
  test('tells the time of its event and the start of the digest, and is known as an id', () => {
    const property = fc.property(times, digests, (eventTime, digest) => {
      const id = eventId(eventTime, digest);
      expect(isEventId(id)).toBe(true);
      const [, time = '', start] = /^(-?[^-]+)-(.+)$/.exec(id) ?? [];
      expect(Number.parseInt(time, 36)).toBe(eventTime);
      expect(Buffer.from(digest).toString('hex').startsWith(String(start))).toBe(true);
    });
    fc.assert(property, { numRuns: runs(1000) });
  });

  test('differs, when the time or one of the first ten bytes of the digest differs', () => {
    const property = fc.property(
      times,
      digests,
      fc.nat(9),
      fc.integer({ min: 1, max: 255 }),
      (time, digest, index, change) => {
        const other = Uint8Array.from(digest, (byte, at) => (at === index ? byte ^ change : byte));
        expect(eventId(time, other)).not.toBe(eventId(time, digest));
        expect(eventId(time + 1, digest)).not.toBe(eventId(time, digest));
      },
    );
    fc.assert(property);
  });

  test('is fit for a URL and a file name, when the event has any time, and short', () => {
    const property = fc.property(times, digests, (time, digest) => {
      expect(eventId(time, digest)).toMatch(/^-?[0-9a-z]{1,11}-[0-9a-f]{20}$/);
    });
    fc.assert(property);
  });

  test('reads the right bytes, when the digest is a part of a larger buffer', () => {
    const large = Buffer.concat([Buffer.alloc(7, 0xff), Buffer.alloc(32, 0xab), Buffer.alloc(7, 0xff)]);
    expect(eventId(0, large.subarray(7, 39))).toBe(`0-${'ab'.repeat(10)}`);
  });

  test.each([
    '',
    '-',
    'abc',
    `0-${'a'.repeat(19)}`,
    `0-${'a'.repeat(21)}`,
    `0-${'A'.repeat(20)}`,
    `0-${'g'.repeat(20)}`,
    ` 0-${'a'.repeat(20)}`,
    `0-${'a'.repeat(20)}\n`,
    `--1-${'a'.repeat(20)}`,
    `zzzzzzzzzzzz-${'a'.repeat(20)}`,
  ])('is not recognised, when it is %j', (text) => {
    expect(isEventId(text)).toBe(false);
  });
});
