import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isKeyOf, keyCheckOf, openRow, sealRow } from '../../src/store/operations/secrets.ts';
import { runs } from '../support/sizes.ts';

const key = Buffer.alloc(32, 1);
const row = { webhookId: 'webhook-1', createdAt: 1, retireAt: undefined };

describe('a sealed secret', () => {
  test('opens with its key, whatever text it is, and with no other, which the key check tells', () => {
    const other = randomBytes(32);
    const property = fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (secret, webhookId) => {
      const sealed = sealRow(key, secret, { ...row, webhookId });
      expect([openRow(key, sealed), openRow(other, sealed)]).toEqual([secret, undefined]);
    });
    fc.assert(property);
    expect([isKeyOf(key, keyCheckOf(key)), isKeyOf(other, keyCheckOf(key))]).toEqual([true, false]);
  });

  test('shows nothing of the secret, and looks different each time', () => {
    const [one, other] = [sealRow(key, 'a secret', row), sealRow(key, 'a secret', row)];
    expect(one.sealed).not.toBe(other.sealed);
    expect(one.fingerprint).toBe(other.fingerprint);
    expect(Buffer.from(one.sealed, 'base64').includes('secret')).toBe(false);
  });

  test('does not open, when any bit of it was changed or a part is missing', () => {
    const sealed = sealRow(key, 'a secret', row);
    const bytes = Buffer.from(sealed.sealed, 'base64');
    const property = fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(openRow(key, { ...sealed, sealed: changed.toString('base64') })).toBeUndefined();
    });
    fc.assert(property, { numRuns: runs(400) });
    for (let length = 0; length < bytes.length; length++) {
      const short = bytes.subarray(0, length).toString('base64');
      expect(openRow(key, { ...sealed, sealed: short })).toBeUndefined();
    }
  });
});
