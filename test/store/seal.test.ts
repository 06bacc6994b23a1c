import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Sealer } from '../../src/store/seal.ts';
import { anyCharacter } from '../support/any-character.ts';
import { runs } from '../support/sizes.ts';

const sealer = new Sealer(Buffer.alloc(32, 1));
const row = { webhookId: 'webhook-1', createdAt: 1, retireAt: undefined };

describe('a sealed secret', () => {
  test('opens with its key in its row, whatever text it is', () => {
    const property = fc.property(fc.string({ unit: anyCharacter }), fc.string(), (secret, webhookId) => {
      const sealed = sealer.sealRow(secret, { ...row, webhookId });
      expect(new Sealer(Buffer.alloc(32, 1)).openRow(sealed)).toBe(secret);
    });
    fc.assert(property);
  });

  test('shows nothing of the secret, and looks different each time', () => {
    const [one, other] = [sealer.sealRow('a secret', row), sealer.sealRow('a secret', row)];
    expect(one.sealed).not.toBe(other.sealed);
    expect(one.fingerprint).toBe(other.fingerprint);
    expect(Buffer.from(one.sealed, 'base64').includes('secret')).toBe(false);
  });

  test('does not open, when any bit of it was changed or a part is missing', () => {
    const sealed = sealer.sealRow('a secret', row);
    const bytes = Buffer.from(sealed.sealed, 'base64');
    const property = fc.property(fc.nat(bytes.length * 8 - 1), (bit) => {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(sealer.openRow({ ...sealed, sealed: changed.toString('base64') })).toBeUndefined();
    });
    fc.assert(property, { numRuns: runs(400) });
    for (let length = 0; length < bytes.length; length++) {
      const sealedShort = bytes.subarray(0, length).toString('base64');
      expect(sealer.openRow({ ...sealed, sealed: sealedShort })).toBeUndefined();
    }
  });

  test('does not open in another row, nor once its retirement was taken back', () => {
    const sealed = sealer.sealRow('a secret', { ...row, retireAt: 5 });
    expect(sealer.openRow({ ...sealed, webhookId: 'webhook-2' })).toBeUndefined();
    expect(sealer.openRow({ ...sealed, retireAt: undefined })).toBeUndefined();
  });

  test('does not open under another key, which the key check tells', () => {
    const other = new Sealer(randomBytes(32));
    expect(other.openRow(sealer.sealRow('a secret', row))).toBeUndefined();
    expect([sealer.isKeyOf(sealer.keyCheck()), other.isKeyOf(sealer.keyCheck())]).toEqual([true, false]);
  });
});

test.each([0, 16, 31, 33, 64])('a key of %d bytes is refused', (length) => {
  expect(() => new Sealer(Buffer.alloc(length))).toThrow(
    expect.objectContaining({ code: 'STORE_UNUSABLE', message: expect.stringContaining('32 bytes') }),
  );
});
