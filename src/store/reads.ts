import type { Db, Dialect } from './dialect.ts';
import { quarantineReads } from './quarantine/lists/entries.ts';
import { eventReads } from './queue/lists/events.ts';
import { channels } from './reports/channels.ts';
import { overview } from './reports/overview.ts';
import { reportReads } from './reports/report.ts';
import { type Keyed, keyCheck, secretsOf } from './secrets/sealed.ts';

/** The queries of lists. They delay no writes. */
export const readsOf = (d: Dialect) => ({
  ...eventReads(d),
  ...quarantineReads(),
  ...reportReads(),
  overview,
  channels,
  keyCheck: (db: Db, _: object) => keyCheck(db),
  secrets: (db: Db, keyed: Keyed) => secretsOf(db, keyed),
});

export type Reads = ReturnType<typeof readsOf>;
