import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { KitError } from '../base/errors.ts';

const VERSION = 2;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The name under which the database has the key check: a value that every key seals when it comes into use. */
export const KEY_CHECK = 'secrets key check';

/** A sealed secret as its row has it. The seal covers the other members too. */
export interface SealedRow {
  readonly webhookId: string;
  readonly fingerprint: Uint8Array;
  readonly sealed: Uint8Array;
  /** null if the secret does not retire */
  readonly retireAt: number | null;
}

/** The purpose that a secret is sealed for: it opens only in its own row, and only while its retirement is unchanged. */
function purposeOf({ webhookId, fingerprint, retireAt }: Omit<SealedRow, 'sealed'>): string {
  return JSON.stringify(['webhook secret', webhookId, Buffer.from(fingerprint).toString('hex'), retireAt]);
}

/**
 * The first version sealed a secret for its webhook only, and its key check for this purpose. A database with such a
 * check has rows of the first version. Once it has a check of the second version, the first opens nothing.
 */
const FIRST = {
  version: 1,
  checkPurpose: KEY_CHECK,
  purposeOf: (webhookId: string) => `webhook ${webhookId}`,
};

/** The version of the secrets is sealed in the key check, so that a return to the first version needs the key. */
const CHECK_PURPOSE = `${KEY_CHECK}, secrets are sealed for their rows`;

/** Seals secrets with AES-256-GCM, so that a copy of the database without the key reveals none. */
export class Sealer {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    if (key.length !== 32) throw new KitError('STORE_UNUSABLE', 'the secrets key must be 32 bytes');
    this.#key = key;
  }

  /** @param purpose the secret opens for this purpose only */
  seal(plain: string, purpose: string): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.from([VERSION]), iv, cipher.getAuthTag(), sealed]);
  }

  /** @throws KitError STORE_UNUSABLE if it was sealed with another key, for another purpose, or changed */
  open(sealed: Uint8Array, purpose: string, version: number = VERSION): string {
    try {
      const bytes = Buffer.from(sealed);
      if (bytes[0] !== version) throw new Error(`unknown version ${bytes[0]}`);
      const iv = bytes.subarray(1, 1 + IV_BYTES);
      const tag = bytes.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', this.#key, iv, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(tag);
      const rest = bytes.subarray(1 + IV_BYTES + TAG_BYTES);
      return Buffer.concat([decipher.update(rest), decipher.final()]).toString('utf8');
    } catch (cause) {
      throw new KitError(
        'STORE_UNUSABLE',
        'the stored secrets do not open with this key: give the SECRETS_KEY (or key file) that sealed them',
        { cause },
      );
    }
  }

  /** A webhook's secret, sealed for its row. */
  sealRow(secret: string, webhookId: string, retireAt: number | null): SealedRow {
    const row = { webhookId, fingerprint: this.fingerprint(secret), retireAt };
    return { ...row, sealed: this.seal(secret, purposeOf(row)) };
  }

  /** The secret of a row; undefined if any part of the row was changed since it was sealed. */
  openRow(row: SealedRow): string | undefined {
    return orUndefined(() => this.#ofRow(row, this.open(row.sealed, purposeOf(row))));
  }

  /** The same for a row that the first version sealed. */
  openFirstRow(row: SealedRow): string | undefined {
    const { version, purposeOf: firstPurposeOf } = FIRST;
    return orUndefined(() => this.#ofRow(row, this.open(row.sealed, firstPurposeOf(row.webhookId), version)));
  }

  /** The key check of this key, sealed when the key comes into use. */
  keyCheck(): Buffer {
    return this.seal(KEY_CHECK, CHECK_PURPOSE);
  }

  /**
   * Which version sealed a key check with this key.
   * @throws KitError STORE_UNUSABLE if it was another key
   */
  versionOf(keyCheck: Uint8Array): 'current' | 'first' {
    const { version, checkPurpose } = FIRST;
    if (orUndefined(() => this.open(keyCheck, checkPurpose, version)) !== undefined) return 'first';
    this.open(keyCheck, CHECK_PURPOSE);
    return 'current';
  }

  /** Whether this key sealed a key check. */
  isKeyOf(keyCheck: Uint8Array): boolean {
    return orUndefined(() => this.versionOf(keyCheck)) !== undefined;
  }

  /** The same for equal secrets, and only for them; it does not reveal a secret. */
  fingerprint(plain: string): Buffer {
    return createHmac('sha256', this.#key).update(plain).digest();
  }

  #ofRow({ fingerprint }: SealedRow, secret: string): string | undefined {
    return this.fingerprint(secret).equals(Buffer.from(fingerprint)) ? secret : undefined;
  }
}

/** The result of opening a secret; undefined if it does not open, for any reason. */
function orUndefined<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch {
    return undefined;
  }
}
