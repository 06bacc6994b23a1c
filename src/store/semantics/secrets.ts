import type { Awaitable, SealedSecret, SecretTables } from '../driver.ts';
import { type SealedRow, Sealer } from '../seal.ts';

/** The key check that was sealed when the key came into use: a process with another check has another key. */
interface Keyed {
  readonly keyCheck: Uint8Array;
}

/** Does something with all secrets. Undefined, and nothing is done, if the database has another key now. */
async function ifCurrent<T>(
  tables: SecretTables,
  { keyCheck }: Keyed,
  use: (rows: readonly SealedSecret[]) => Awaitable<T>,
): Promise<T | undefined> {
  const current = await tables.keyCheck();
  const isCurrent = current !== undefined && Buffer.from(keyCheck).equals(current);
  return isCurrent ? use(await tables.secrets()) : undefined;
}

/** The key check of the database, which is the given one if it had none. */
export async function keyCheckOr(
  tables: SecretTables,
  given: Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  const known = await tables.keyCheck();
  if (known === undefined && given !== undefined) await tables.setKeyCheck(given);
  return known ?? given;
}

/** All secrets, retired ones too, oldest first. */
export function secrets(tables: SecretTables, keyed: Keyed): Promise<readonly SealedSecret[] | undefined> {
  return ifCurrent(tables, keyed, (rows) => rows);
}

/** Stores a secret, or ends its retirement. */
export function addSecret(
  tables: SecretTables,
  { keyCheck, ...secret }: SealedSecret & Keyed,
): Promise<boolean | undefined> {
  return ifCurrent(tables, { keyCheck }, async (rows) => {
    const known = rows.find(isRow(secret));
    if (known) await tables.replaceSecrets(replaced(rows, known, { ...secret, createdAt: known.createdAt }));
    else await tables.addSecret(secret);
    return true;
  });
}

/** Retires a secret. @returns whether there is one */
export function retireSecret(
  tables: SecretTables,
  { keyCheck, ...retired }: SealedRow & Keyed,
): Promise<boolean | undefined> {
  return ifCurrent(tables, { keyCheck }, async (rows) => {
    const known = rows.find(isRow(retired));
    if (known) await tables.replaceSecrets(replaced(rows, known, { ...known, ...retired }));
    return known !== undefined;
  });
}

/** Removes rows that did not change since they were read. @returns how many */
export function dropSecrets(
  tables: SecretTables,
  { keyCheck, rows: dropped }: Keyed & { readonly rows: readonly SealedRow[] },
): Promise<number | undefined> {
  return ifCurrent(tables, { keyCheck }, async (rows) => {
    const isDropped = (row: SealedRow) =>
      dropped.some((one) => isRow(one)(row) && isEqual(one.sealed, row.sealed));
    const kept = rows.filter((row) => !isDropped(row));
    await tables.replaceSecrets(kept);
    return rows.length - kept.length;
  });
}

/** Writes these in place of all secrets. @returns how many */
export function replaceSecrets(
  tables: SecretTables,
  { keyCheck, rows }: Keyed & { readonly rows: readonly SealedSecret[] },
): Promise<number | undefined> {
  return ifCurrent(tables, { keyCheck }, async () => {
    await tables.replaceSecrets(rows);
    return rows.length;
  });
}

/** The keys of a change of keys, of 32 bytes each. */
interface Rekeying extends Keyed {
  readonly oldKey: Uint8Array;
  readonly newKey: Uint8Array;
}

/**
 * Seals all secrets under another key, retired ones too.
 * @throws Error if a row does not open; then nothing is changed
 */
export function rekey(
  tables: SecretTables,
  { oldKey, newKey, ...keyed }: Rekeying,
): Promise<(Keyed & { readonly secrets: number }) | undefined> {
  const [before, after] = [new Sealer(Buffer.from(oldKey)), new Sealer(Buffer.from(newKey))];
  return ifCurrent(tables, keyed, async (rows) => {
    const sealed = rows.map((row) => {
      const secret = before.openRow(row);
      if (secret === undefined) throw new Error(`a secret of webhook ${row.webhookId} does not open`);
      return { ...row, ...after.sealRow(secret, row.webhookId, row.retireAt) };
    });
    const keyCheck = after.keyCheck();
    await tables.replaceSecrets(sealed);
    await tables.setKeyCheck(keyCheck);
    return { secrets: rows.length, keyCheck };
  });
}

/** Seals the secrets of the first version for their rows. One that does not open stays as it is, and does not open later either. */
export async function bindToRows(
  tables: SecretTables,
  { key, ...keyed }: Keyed & { readonly key: Uint8Array },
): Promise<void> {
  const sealer = new Sealer(Buffer.from(key));
  await ifCurrent(tables, keyed, async (rows) => {
    const sealed = rows.map((row) => {
      const secret = sealer.openFirstRow(row);
      return secret === undefined ? row : { ...row, ...sealer.sealRow(secret, row.webhookId, row.retireAt) };
    });
    await tables.replaceSecrets(sealed);
    await tables.setKeyCheck(sealer.keyCheck());
  });
}

function isRow(one: Pick<SealedRow, 'webhookId' | 'fingerprint'>): (other: typeof one) => boolean {
  return (other) => isEqual(one.webhookId, other.webhookId) && isEqual(one.fingerprint, other.fingerprint);
}

/** Whether two values of a row are the same. By hand a column may have got a value of any type, also bytes in place of a text. */
function isEqual(one: unknown, other: unknown): boolean {
  const areBytes = one instanceof Uint8Array && other instanceof Uint8Array;
  return areBytes ? Buffer.compare(one, other) === 0 : one === other;
}

function replaced(rows: readonly SealedSecret[], before: SealedSecret, after: SealedSecret): SealedSecret[] {
  return rows.map((row) => (row === before ? after : row));
}
