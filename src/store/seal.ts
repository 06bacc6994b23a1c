import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The value that every key seals when it comes into use. */
const KEY_CHECK = 'secrets key check';

/** A secret as it is stored. The seal covers the other members too, but for `createdAt`. */
export interface SealedRow {
  readonly webhookId: string;
  readonly fingerprint: string;
  readonly sealed: string;
  readonly retireAt: number | undefined;
  readonly createdAt: number;
}

/** A sealed secret opens only in its own row, and only while its retirement is unchanged. */
function purposeOf({ webhookId, fingerprint, retireAt }: Omit<SealedRow, 'sealed' | 'createdAt'>): string {
  return JSON.stringify(['webhook secret', webhookId, fingerprint, retireAt ?? null]);
}

/** A webhook's secret, sealed for its row. @param key 32 bytes */
export function sealRow(
  key: Uint8Array,
  secret: string,
  row: Omit<SealedRow, 'sealed' | 'fingerprint'>,
): SealedRow {
  // The same for equal secrets, and only for them; it does not reveal a secret.
  const fingerprint = createHmac('sha256', key).update(secret).digest('hex');
  return { ...row, fingerprint, sealed: seal(key, secret, purposeOf({ ...row, fingerprint })) };
}

/** The secret of a row; undefined if another key sealed it, or any part of the row was changed since. */
export const openRow = (key: Uint8Array, row: SealedRow) => unseal(key, row.sealed, purposeOf(row));

/** A text by which a key is recognised. */
export const keyCheckOf = (key: Uint8Array) => seal(key, KEY_CHECK, KEY_CHECK);

/** Whether a key sealed a key check. */
export const isKeyOf = (key: Uint8Array, keyCheck = '') => unseal(key, keyCheck, KEY_CHECK) === KEY_CHECK;

/** Seals with AES-256-GCM, so that a copy of the database without the key reveals nothing. */
function seal(key: Uint8Array, plain: string, purpose: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
}

function unseal(key: Uint8Array, sealed: string, purpose: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  const [iv, tag] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES)];
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag);
    const rest = bytes.subarray(IV_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(rest), decipher.final()]).toString('utf8');
  } catch {
    return undefined; // what does not authenticate says no more than that
  }
}
