import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Sealer } from '../../src/store/seal.ts';
import { anyCharacter } from '../support/any-character.ts';
import { runs } from '../support/sizes.ts';

const PURPOSE = 'webhook webhook-1';
const sealer = new Sealer(Buffer.alloc(32, 1));
const refusal = expect.objectContaining({
  code: 'STORE_UNUSABLE',
  message: expect.stringContaining('SECRETS_KEY'),
});

describe('Sealer', () => {
  test('opens what it sealed, when key and purpose are the same, for any text', () => {
    const property = fc.property(fc.string({ unit: anyCharacter }), fc.string(), (plain, purpose) => {
      expect(new Sealer(Buffer.alloc(32, 1)).open(sealer.seal(plain, purpose), purpose)).toBe(plain);
    });
    fc.assert(property);
  });

  test('seals differently, when the same text is sealed twice, so that equal secrets do not show', () => {
    expect(sealer.seal('same', PURPOSE)).not.toEqual(sealer.seal('same', PURPOSE));
  });

  test('shows nothing of the text, when it is sealed, in any place', () => {
    const plain = 'a secret that must not show';
    expect(sealer.seal(plain, PURPOSE).includes(plain)).toBe(false);
  });

  test('refuses to open, when any bit was changed, and says what to do', () => {
    const sealed = sealer.seal('secret', PURPOSE);
    const property = fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(() => sealer.open(changed, PURPOSE)).toThrow(refusal);
    });
    fc.assert(property, { numRuns: runs(400) });
  });

  test('refuses to open, when it is cut short at any length or lengthened, and says what to do', () => {
    const sealed = sealer.seal('secret', PURPOSE);
    for (let length = 0; length < sealed.length; length++) {
      expect(() => sealer.open(sealed.subarray(0, length), PURPOSE)).toThrow(refusal);
    }
    expect(() => sealer.open(Buffer.concat([sealed, Buffer.alloc(1)]), PURPOSE)).toThrow(refusal);
  });

  test('refuses to open, when the key is another one, and says what to do', () => {
    const other = new Sealer(randomBytes(32));
    expect(() => other.open(sealer.seal('secret', PURPOSE), PURPOSE)).toThrow(refusal);
  });

  test('refuses to open, when it was sealed for another purpose, so that secrets cannot be swapped', () => {
    expect(() => sealer.open(sealer.seal('secret', PURPOSE), 'webhook webhook-2')).toThrow(refusal);
  });

  test.each([0, 16, 31, 33, 64])('refuses a key, when it has %d bytes', (length) => {
    expect(() => new Sealer(Buffer.alloc(length))).toThrow(
      expect.objectContaining({ code: 'STORE_UNUSABLE', message: expect.stringContaining('32 bytes') }),
    );
  });

  test('gives equal texts equal fingerprints, when the key is the same, and others under another key', () => {
    const other = new Sealer(Buffer.alloc(32, 2));
    expect(sealer.fingerprint('secret')).toEqual(sealer.fingerprint('secret'));
    expect(sealer.fingerprint('secret')).not.toEqual(sealer.fingerprint('secreT'));
    expect(sealer.fingerprint('secret')).not.toEqual(other.fingerprint('secret'));
  });
});
