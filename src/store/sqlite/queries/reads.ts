import type { Database } from 'better-sqlite3';
import type { QuarantineReads } from '../../driver.ts';
import type { Queries } from '../../driver-store.ts';
import { quarantineQueries } from '../../semantics/quarantine.ts';
import { type BoundOperations, boundBy } from '../../threads/protocol.ts';
import { compiledWhenUsed } from '../compiled-when-used.ts';
import { quarantineReads } from '../tables/quarantine.ts';
import { stateReader as state, statesReader as states } from '../tables/steps-and-state.ts';
import { attempts, count, event, events, eventsAfter, receivedAfter, running } from './event-queries.ts';
import { channels, overview, steps, timeline } from './glance.ts';
import { replayable, search } from './search.ts';

const queries = {
  event,
  attempts,
  running,
  events,
  eventsAfter,
  receivedAfter,
  count,
  overview,
  search,
  replayable,
  timeline,
  channels,
  steps,
  state,
  states,
} satisfies { readonly [N in keyof Queries]: (db: Database) => Queries[N] };

/**
 * The operations of the reading connection: queries of the inspector, the command line and the admission from quarantine,
 * which may take long. Receiving a notification and dispatching its event need none of them.
 */
export function readsOf(connection: Database): BoundOperations {
  const db = compiledWhenUsed(connection);
  const tables = quarantineReads(db);
  const ofQuarantine: Readonly<Record<string, (tables: QuarantineReads, input: never) => unknown>> =
    quarantineQueries;
  return {
    ...boundBy<(typeof queries)[keyof typeof queries]>(queries, (query) => ({ one: query(db) })),
    ...boundBy(ofQuarantine, (query) => ({ one: (input) => query(tables, input) })),
  };
}
