import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { KitError } from '../base/errors.ts';
import type { SealedRow } from './operations/secrets.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The value that every key seals when it comes into use. */
const KEY_CHECK = 'secrets key check';

/** A sealed secret opens only in its own row, and only while its retirement is unchanged. */
function purposeOf({ webhookId, fingerprint, retireAt }: Omit<SealedRow, 'sealed' | 'createdAt'>): string {
  return JSON.stringify(['webhook secret', webhookId, fingerprint, retireAt ?? null]);
}

/** Seals secrets with AES-256-GCM, so that a copy of the database without the key reveals none. */
export class Sealer {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    if (key.length !== 32) throw new KitError('STORE_UNUSABLE', 'the secrets key must be 32 bytes');
    this.#key = key;
  }

  /** A webhook's secret, sealed for its row. */
  sealRow(secret: string, row: Omit<SealedRow, 'sealed' | 'fingerprint'>): SealedRow {
    // The same for equal secrets, and only for them; it does not reveal a secret.
    const fingerprint = createHmac('sha256', this.#key).update(secret).digest('hex');
    return { ...row, fingerprint, sealed: this.#seal(secret, purposeOf({ ...row, fingerprint })) };
  }

  /** The secret of a row; undefined if another key sealed it, or any part of the row was changed since. */
  openRow(row: SealedRow): string | undefined {
    return this.#open(row.sealed, purposeOf(row));
  }

  /** A text by which this key is recognised. */
  keyCheck(): string {
    return this.#seal(KEY_CHECK, KEY_CHECK);
  }

  /** Whether this key sealed a key check. */
  isKeyOf(keyCheck: string): boolean {
    return this.#open(keyCheck, KEY_CHECK) === KEY_CHECK;
  }

  #seal(plain: string, purpose: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
  }

  #open(sealed: string, purpose: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64');
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const rest = bytes.subarray(IV_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(rest), decipher.final()]).toString('utf8');
    } catch {
      return undefined; // what does not authenticate says no more than that
    }
  }
}
