import type { Dialect } from './dialect.ts';
import { quarantineReads } from './quarantine/lists/entries.ts';
import { eventReads } from './queue/lists/events.ts';
import { channels } from './reports/channels.ts';
import { overview } from './reports/overview.ts';
import { reportReads } from './reports/report.ts';
import { keyCheck, secrets } from './secrets/sealed.ts';

/** The queries of lists. They delay no writes. */
export const readsOf = (d: Dialect) => ({
  ...eventReads(d),
  ...quarantineReads(),
  ...reportReads(),
  overview,
  channels,
  keyCheck,
  secrets,
});

export type Reads = ReturnType<typeof readsOf>;
