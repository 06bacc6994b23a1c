import type { Database } from 'better-sqlite3';
import type { Tables } from '../driver.ts';
import { operations, type TableOperations } from '../semantics/operations.ts';
import { record } from '../semantics/recording.ts';
import { settle } from '../semantics/settling.ts';
import { type BoundOperations, boundBy } from '../threads/protocol.ts';
import { tablesOf } from './tables/index.ts';
import { emptyLog, resetLog, rewrite, settings, unzeroedBytes } from './upkeep.ts';

/** What concerns the file, and no table. */
const ofFile = { resetLog, emptyLog, unzeroedBytes, rewrite, settings };

/** The operations of the writing connection. */
export type Writes = TableOperations & {
  readonly [N in keyof typeof ofFile]: ReturnType<(typeof ofFile)[N]>;
};

export function writesOf(db: Database): BoundOperations {
  const tables = tablesOf(db);
  const ofTables: Readonly<Record<string, (tables: Tables, input: never) => unknown>> = operations;
  return {
    ...boundBy(ofTables, (operate) => ({ one: (input) => operate(tables, input) })),
    record: { one: (input) => operations.record(tables, input), many: (inputs) => record(tables, inputs) },
    settle: { one: (input) => operations.settle(tables, input), many: (inputs) => settle(tables, inputs) },
    ...boundBy<(typeof ofFile)[keyof typeof ofFile]>(ofFile, (operate) => ({ one: operate(db) })),
  };
}
