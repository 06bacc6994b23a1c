import { pause, systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import type { EngineModule, Raw } from '../engine.ts';
import { checkServer } from './check.ts';
import { inTransaction, opening, openPostgres, versionOf } from './engine.ts';
import { nameOf, Servers } from './servers.ts';

const BEGIN = 'BEGIN; SET LOCAL search_path = hookkit; SET LOCAL jit = off';

/** How often the server is asked whether programs have gone: a connection that was just closed is still seen for a moment. */
const LOOKS = 20;
const LOOK_MS = 250;

/** @throws KitError STORE_UNUSABLE if other programs of the kit are connected */
async function openRaw(url: string): Promise<Raw> {
  const servers = new Servers(url, 1, 'hookkit move');
  const name = nameOf(url);
  const transact: Raw['transact'] = (work) => inTransaction(servers, BEGIN, work);
  await opening(servers, name, async () => {
    for (let look = 1; (await transact((db) => db.all(OTHERS))).length > 0; look++) {
      if (look === LOOKS) throw new KitError('STORE_UNUSABLE', `other programs use ${name}: end them`);
      await pause(systemClock, LOOK_MS);
    }
  });
  return {
    name,
    isPostgres: true,
    transact,
    version: () => transact(versionOf),
    setVersion: (version) => transact(async (db) => void (await db.all(SET_VERSION, { version }))),
    [Symbol.asyncDispose]: () => servers.close(),
  };
}

const SET_VERSION = "UPDATE meta SET value = $version WHERE name = 'version'";
const OTHERS = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND application_name LIKE 'hookkit%'`;

const NO_KEY =
  'SECRETS_KEY is not set, and with PostgreSQL it must be, the same for all processes: give it that of the others, or make the first one with "openssl rand -base64 32"';

export const postgresEngine: EngineModule = {
  openEngine: openPostgres,
  keySourceOf() {
    throw new KitError('CONFIG_INVALID', NO_KEY);
  },
  check: checkServer,
  openRaw,
};
