import type { Dialect } from '../dialect.ts';
import { callsOf, type Engine } from '../engine.ts';
import { channels } from './channels.ts';
import { newestOfWebhooks, overview } from './overview.ts';
import { countReads, reportOperations } from './report.ts';

export type ReportsReader = ReturnType<typeof reportsReaderOn>;
export type Reports = ReturnType<typeof reportsOn>;

export const reportReads = (d: Dialect) => ({ ...countReads(d), overview, newestOfWebhooks, channels });

/** What processes tell of themselves, the overview, and live channels. */
export const reportsReaderOn = ({ read }: Pick<Engine, 'read'>) => callsOf(reportReads, read);

export const reportsOn = (engine: Engine, reader: ReportsReader) => ({
  ...reader,
  ...callsOf(reportOperations, engine.write),
});
