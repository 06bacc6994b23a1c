import { createHmac } from 'node:crypto';
import { existsSync } from 'node:fs';
import { KitError } from '../../base/errors.ts';
import { openVault } from '../driver-store.ts';
import { keyFile } from '../key-file.ts';
import type { InputOf, OutputOf, StoreLink } from '../link.ts';
import { operations, type TableOperations } from '../semantics/operations.ts';
import type { WebhookSecret } from '../stored.ts';
import { givenKey, type KeySource, type Vault } from '../vault.ts';
import type { Compared, Sides } from './round.ts';
import type { Side } from './side.ts';

/** The keys of the two databases, where they are not in files beside them. */
export interface Keys {
  /** SECRETS_KEY: seals the secrets of `to`, and opens those of `from` if that has no other key */
  readonly secretsKey: Buffer | undefined;
  /** opens those of `from`, in place of all others */
  readonly fromKey: Buffer | undefined;
}

export interface Vaults {
  readonly from: Vault;
  readonly to: Vault;
}

/** @throws KitError STORE_UNUSABLE if a key is missing, or opens nothing */
export async function openVaults({ from, to }: Sides, { secretsKey, fromKey }: Keys): Promise<Vaults> {
  const given = secretsKey && givenKey(secretsKey);
  const ofFrom = fromKey ? [givenKey(fromKey)] : [...fileOf(from), ...(given ? [given] : [])];
  return {
    from: await firstVault(from, ofFrom),
    to: await firstVault(to, given ? [given] : to.keyFile ? [keyFile(to.keyFile)] : []),
  };
}

function fileOf({ keyFile: path }: Side): readonly KeySource[] {
  return path !== undefined && existsSync(path) ? [keyFile(path)] : [];
}

/** The vault of a database, with the first key that opens it. */
async function firstVault(side: Side, sources: readonly KeySource[]): Promise<Vault> {
  let reason: unknown = new KitError(
    'STORE_UNUSABLE',
    `there is no key for the secrets of ${side.name}: set SECRETS_KEY, or name a file with the key of the former database (--from-key-file)`,
  );
  for (const source of sources) {
    try {
      return await openVault(linkTo(side), source);
    } catch (error) {
      reason = error;
    }
  }
  throw reason;
}

function linkTo(side: Side): StoreLink<TableOperations> {
  return {
    request: <N extends keyof TableOperations & string>(name: N, input: InputOf<TableOperations, N>) =>
      side.transact((tables) => {
        const operate = operations[name] as (...given: unknown[]) => unknown;
        return operate(tables, input) as OutputOf<TableOperations, N>;
      }),
    close: async () => {},
  };
}

/**
 * Seals the secrets of one database in the other, where it has others.
 * @param salt makes checksums of which nobody can guess a secret
 */
export async function copySecrets(
  { from, to }: Vaults,
  salt: Buffer,
): Promise<{ readonly changed: number; readonly compared: Compared }> {
  const sumOf = (secrets: readonly WebhookSecret[]) => {
    const lines = secrets.map((one) =>
      JSON.stringify([one.webhookId, one.secret, one.createdAt, one.retireAt ?? null]),
    );
    return createHmac('sha256', salt).update(lines.sort().join('\n')).digest('hex');
  };
  const wanted = await from.all();
  const sum = sumOf(wanted);
  const isSame = sum === sumOf(await to.all());
  if (!isSame) await to.replaceAll(wanted);
  const there = sumOf(await to.all());
  return {
    changed: isSame ? 0 : Math.max(1, wanted.length),
    compared: { table: 'secrets', rows: wanted.length, from: sum, to: there },
  };
}
