import type { Awaitable, Entry, Tables } from '../driver.ts';
import type { StateChange } from '../stored.ts';
import { claim } from './claiming.ts';
import { readClock } from './clock-readings.ts';
import { inOrder } from './in-order.ts';
import { mark } from './marks.ts';
import { prune } from './pruning.ts';
import { admit, hasQuarantined, quarantine } from './quarantine.ts';
import { record, take } from './recording.ts';
import { makeReady, resetEvents } from './replaying.ts';
import {
  addSecret,
  bindToRows,
  dropSecrets,
  keyCheckOr,
  rekey,
  replaceSecrets,
  retireSecret,
  secrets,
} from './secrets.ts';
import { holds, type Settling, saveStep, settle, step } from './settling.ts';

interface Renewal {
  readonly owner: string;
  readonly now: number;
  readonly until: number;
  readonly among: readonly number[] | undefined;
}

interface NewState {
  readonly resource: string;
  readonly values: readonly StateChange[];
}

/** What a store does to its tables. Each operation is in one transaction. */
export const operations = {
  record: (tables: Tables, entry: Entry) => onlyOf(record(tables, [entry])),
  take,
  claim,
  renew: (tables: Tables, { owner, until, among }: Renewal) => tables.extendLeases(owner, until, among),
  settle: (tables: Tables, settling: Settling) => onlyOf(settle(tables, [settling])),
  step,
  holds,
  saveStep,
  replaceState: (tables: Tables, { resource, values }: NewState) =>
    inOrder(tables.removeState(resource), tables.changeState([{ resource, changes: values }])),
  deleteState: (tables: Tables, resource: string) => tables.removeState(resource),
  resetEvents,
  makeReady,
  lastPlace: (tables: Tables) => tables.lastPlace(),
  settledPlace: (tables: Tables) => tables.settledPlace(),
  prune,
  addSecret,
  retireSecret,
  secrets,
  dropSecrets,
  rekey,
  replaceSecrets,
  bindToRows,
  keyCheckOr,
  ownSecrets: (tables: Tables) => tables.ownSecrets(),
  secretsStamp: (tables: Tables) => tables.secretsStamp(),
  quarantine,
  hasQuarantined,
  countLost: (tables: Tables, entries: number) => tables.addLost(entries),
  admit,
  newestTime: (tables: Tables) => tables.newestTime(),
  readClock,
  ping: (tables: Tables) => tables.ping(),
  mark: (tables: Tables) => mark(tables),
} satisfies Readonly<Record<string, (tables: Tables, input: never) => Awaitable<unknown>>>;

/** The operations of one database. */
export type TableOperations = {
  readonly [N in keyof typeof operations]: (typeof operations)[N] extends (
    tables: Tables,
    input: infer I,
  ) => infer O
    ? (input: unknown extends I ? undefined : I) => O
    : never;
};

async function onlyOf<T>(outputs: Promise<readonly T[]>): Promise<T> {
  const [output] = await outputs;
  if (output === undefined) throw new Error('no answer to one request');
  return output;
}
