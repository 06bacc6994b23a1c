import type { Raw } from '../engine.ts';
import { MOVED } from '../schema.ts';
import { inTransaction, openAlone, statementsOn, versionOf } from './connection.ts';

/** @throws KitError STORE_UNUSABLE if other programs use it */
export async function openRaw(path: string): Promise<Raw> {
  const database = openAlone(path);
  const db = statementsOn(database);
  return {
    name: path,
    isPostgres: false,
    transact: (work) => inTransaction(database, db, 'BEGIN EXCLUSIVE', () => work(db)),
    version: async () => versionOf(database),
    setVersion: async (version) => void database.pragma(`user_version = ${version}`),
    retire: async () => void database.pragma(`user_version = ${MOVED}`),
    [Symbol.asyncDispose]: async () => void database.close(),
  };
}
