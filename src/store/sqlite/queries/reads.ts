import { stateReader as state } from '../tables/steps-and-state.ts';
import { channels } from './channel-states.ts';
import { attempts, count, event, events, eventsAfter, receivedAfter } from './event-queries.ts';
import {
  quarantined,
  quarantineSize,
  quarantineSummary,
  unproven,
  waitingWebhooks,
} from './quarantine-queries.ts';
import { replayable, search } from './search.ts';
import { overview } from './tallies.ts';
import { steps, timeline } from './timeline.ts';

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
  quarantined,
  unproven,
  waitingWebhooks,
  quarantineSize,
  overview,
  search,
  replayable,
  timeline,
  channels,
  steps,
  state,
  quarantineSummary,
};
