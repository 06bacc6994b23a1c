import type { Dialect } from '../dialect.ts';
import { type Calls, callsOf, type Engine } from '../engine.ts';
import { channels } from './channels.ts';
import { newestOfWebhooks, overview } from './overview.ts';
import { countReads, reportOperations } from './report.ts';

export type ReportsReader = Calls<ReturnType<typeof reportReads>>;
export type Reports = ReturnType<typeof reportsOn>;

/** What processes tell of themselves, the overview, and live channels. */
export const reportReads = (d: Dialect) => ({ ...countReads(d), overview, newestOfWebhooks, channels });

export const reportsOn = (engine: Engine, reader: ReportsReader) => ({
  ...reader,
  ...callsOf(reportOperations, engine.write),
});
