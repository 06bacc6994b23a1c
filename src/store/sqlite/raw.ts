import { inUse, type Raw } from '../engine.ts';
import { MOVED } from '../schema.ts';
import { isBusy, openAlone, statementsOn } from './connection.ts';

/** @throws KitError STORE_UNUSABLE if other programs use it */
export async function openRaw(path: string): Promise<Raw> {
  let database: ReturnType<typeof openAlone>;
  try {
    database = openAlone(path);
  } catch (error) {
    throw isBusy(error) ? inUse(path) : error;
  }
  const db = statementsOn(database);
  return {
    name: path,
    isPostgres: false,
    async transact(work) {
      database.exec('BEGIN EXCLUSIVE');
      try {
        const done = await work(db);
        database.exec('COMMIT');
        return done;
      } catch (error) {
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    },
    async version() {
      return Number(database.pragma('user_version', { simple: true }));
    },
    async setVersion(version) {
      database.pragma(`user_version = ${version}`);
    },
    async retire() {
      database.pragma(`user_version = ${MOVED}`);
    },
    async close() {
      database.close();
    },
  };
}
