import { claim } from './claim.ts';
import { release, renew } from './leases.ts';
import { prune } from './prune.ts';
import { dismiss, quarantine, quarantined } from './quarantine.ts';
import { attempts, count, event, events, eventsAfter } from './queries.ts';
import { record } from './record.ts';
import { lastSeq, replay } from './replay.ts';
import { addSecret, meta, metaOrSet, retireSecret, secrets } from './secrets.ts';
import { settings } from './settings.ts';
import { settle } from './settle.ts';
import { saveStep, step } from './steps.ts';

/** What the writing thread can do. Each is made once for its connection, with its statements prepared. */
export const writes = {
  record,
  claim,
  renew,
  settle,
  release,
  step,
  saveStep,
  replay,
  lastSeq,
  addSecret,
  retireSecret,
  secrets,
  meta,
  metaOrSet,
  quarantine,
  dismiss,
  prune,
  settings,
  ping: () => (_nothing: null) => null,
};

/** What the reading thread can do: queries that may take long. */
export const reads = { event, attempts, events, eventsAfter, count, quarantined };
