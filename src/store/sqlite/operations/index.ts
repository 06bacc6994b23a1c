import { channels } from './channels.ts';
import { claim } from './claim.ts';
import { release, renew } from './leases.ts';
import { meta, metaOrSet } from './meta.ts';
import { ping } from './ping.ts';
import { prune } from './prune.ts';
import { dismiss, hasQuarantined, quarantine, quarantined } from './quarantine.ts';
import { quarantineSummary } from './quarantine-summary.ts';
import { attempts, count, event, events, eventsAfter, receivedAfter } from './queries.ts';
import { record } from './record.ts';
import { lastSeq, letGo, putBack } from './replay.ts';
import { oldestReplayable, replayable, search } from './search.ts';
import { addSecret, rekey, retireSecret, secrets } from './secrets.ts';
import { settings } from './settings.ts';
import { settle } from './settle.ts';
import { saveStep, step } from './steps.ts';
import { overview } from './tallies.ts';
import { steps, timeline } from './timeline.ts';

/** What the writing thread can do. Each is made once for its connection, with its statements prepared. */
export const writes = {
  record,
  claim,
  renew,
  settle,
  release,
  step,
  saveStep,
  putBack,
  letGo,
  lastSeq,
  addSecret,
  retireSecret,
  secrets,
  rekey,
  meta,
  metaOrSet,
  quarantine,
  hasQuarantined,
  dismiss,
  prune,
  settings,
  ping,
};

/** What the reading thread can do: queries that may take long. */
export const reads = {
  event,
  attempts,
  events,
  eventsAfter,
  receivedAfter,
  count,
  quarantined,
  overview,
  search,
  replayable,
  oldestReplayable,
  timeline,
  channels,
  steps,
  quarantineSummary,
};
