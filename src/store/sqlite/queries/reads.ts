import type { Database } from 'better-sqlite3';
import type { QuarantineReads } from '../../driver.ts';
import {
  quarantined,
  quarantineSize,
  quarantineSummary,
  unproven,
  waitingWebhooks,
} from '../../semantics/quarantine.ts';
import { quarantineReads } from '../tables/quarantine.ts';
import { stateReader as state } from '../tables/steps-and-state.ts';
import { channels } from './channel-states.ts';
import { attempts, count, event, events, eventsAfter, receivedAfter } from './event-queries.ts';
import { replayable, search } from './search.ts';
import { overview } from './tallies.ts';
import { steps, timeline } from './timeline.ts';

/** A query of the quarantine. */
function ofQuarantine<I, O>(query: (tables: QuarantineReads, input: I) => Promise<O>) {
  return (db: Database) => {
    const tables = quarantineReads(db);
    return (input: I) => query(tables, input);
  };
}

/**
 * The operations of the reading connection: queries of the inspector, the command line and the admission from quarantine,
 * which may take long. Receiving a notification and dispatching its event need none of them.
 */
export const reads = {
  event,
  attempts,
  events,
  eventsAfter,
  receivedAfter,
  count,
  quarantined: ofQuarantine(quarantined),
  unproven: ofQuarantine(unproven),
  waitingWebhooks: ofQuarantine(waitingWebhooks),
  quarantineSize: ofQuarantine(quarantineSize),
  overview,
  search,
  replayable,
  timeline,
  channels,
  steps,
  state,
  quarantineSummary: ofQuarantine(quarantineSummary),
};
