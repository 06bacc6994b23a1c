import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { KitError } from '../errors.ts';

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What every key seals when it comes into use, so that another one can be told from it. */
export const KEY_CHECK = 'secrets key check';

/** What a webhook's secret is sealed for: it opens for no other. */
export function purposeOf(webhookId: string): string {
  return `webhook ${webhookId}`;
}

/** Seals secrets with AES-256-GCM, so that a copy of the database without the key reveals none. */
export class Sealer {
  readonly #key: Buffer;

  /** @param key 32 bytes */
  constructor(key: Buffer) {
    if (key.length !== 32) throw new KitError('STORE_UNUSABLE', 'the secrets key must be 32 bytes');
    this.#key = key;
  }

  /** @param purpose what the secret is for; it opens for nothing else */
  seal(plain: string, purpose: string): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.from([VERSION]), iv, cipher.getAuthTag(), sealed]);
  }

  /** @throws KitError STORE_UNUSABLE if it was sealed with another key, for another purpose, or changed */
  open(sealed: Uint8Array, purpose: string): string {
    const bytes = Buffer.from(sealed);
    try {
      if (bytes[0] !== VERSION) throw new Error(`unknown version ${bytes[0]}`);
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

  /** Whether `open` would. */
  opens(sealed: Uint8Array, purpose: string): boolean {
    try {
      this.open(sealed, purpose);
      return true;
    } catch {
      return false;
    }
  }

  /** Tells equal secrets apart from others without opening them. */
  fingerprint(plain: string): Buffer {
    return createHmac('sha256', this.#key).update(plain).digest();
  }
}
