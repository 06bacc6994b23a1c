import type { Database } from 'better-sqlite3';
import type { Awaitable, Tables } from '../../driver.ts';
import { claim } from '../../semantics/claiming.ts';
import { prune } from '../../semantics/pruning.ts';
import { admit, hasQuarantined, quarantine } from '../../semantics/quarantine.ts';
import { record, take } from '../../semantics/recording.ts';
import { makeReady, resetEvents } from '../../semantics/replaying.ts';
import {
  addSecret,
  bindToRows,
  dropSecrets,
  keyCheckOr,
  rekey,
  retireSecret,
  secrets,
} from '../../semantics/secrets.ts';
import { holds, saveStep, settle, step } from '../../semantics/settling.ts';
import { tablesOf } from '../tables/index.ts';
import { resetLog } from './checkpoint.ts';
import { newestTime, ping, settings } from './meta.ts';
import { emptyLog, rewrite, unzeroedBytes } from './scrubbing.ts';

/** An operation on the tables. */
function onTables<I, O>(operate: (tables: Tables, input: I) => Awaitable<O>) {
  return (db: Database) => (input: I) => operate(tablesOf(db), input);
}

/** The same of one that takes many inputs at once. */
function manyOnTables<I, O>(operate: (tables: Tables, inputs: readonly I[]) => Promise<readonly O[]>) {
  const one = (db: Database) => async (input: I) => {
    const [output] = await operate(tablesOf(db), [input]);
    return output as O;
  };
  const many = (db: Database) => (inputs: readonly I[]) => operate(tablesOf(db), inputs);
  return Object.assign(one, { many });
}

/** The operations of the writing connection. Each is made once, with its statements prepared. */
export const writes = {
  record: manyOnTables(record),
  take: onTables(take),
  claim: onTables(claim),
  renew: onTables((tables, { owner, until }: { owner: string; until: number }) =>
    tables.extendLeases(owner, until),
  ),
  settle: manyOnTables(settle),
  step: onTables(step),
  holds: onTables(holds),
  saveStep: onTables(saveStep),
  deleteState: onTables((tables, resource: string) => tables.removeState(resource)),
  resetEvents: onTables(resetEvents),
  makeReady: onTables(makeReady),
  lastPlace: onTables((tables) => tables.lastPlace()),
  prune: onTables(prune),
  addSecret: onTables(addSecret),
  retireSecret: onTables(retireSecret),
  secrets: onTables(secrets),
  keyCheckOr: onTables(keyCheckOr),
  ownSecrets: onTables((tables) => tables.ownSecrets()),
  dropSecrets: onTables(dropSecrets),
  rekey: onTables(rekey),
  bindToRows: onTables(bindToRows),
  resetLog,
  emptyLog,
  unzeroedBytes,
  rewrite,
  quarantine: onTables(quarantine),
  hasQuarantined: onTables(hasQuarantined),
  admit: onTables(admit),
  settings,
  newestTime,
  ping,
};
