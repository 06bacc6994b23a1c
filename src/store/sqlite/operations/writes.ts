import { resetLog } from './checkpoint.ts';
import { claim } from './claim.ts';
import { renew } from './leases.ts';
import { meta, metaOrSet, ping, settings } from './meta.ts';
import { prune } from './pruning.ts';
import { admit, hasQuarantined, quarantine } from './quarantine-writes.ts';
import { record } from './record.ts';
import { lastSeq, makeReady, resetEvents } from './reset.ts';
import { emptyLog, rewrite, unzeroedBytes } from './scrubbing.ts';
import {
  addSecret,
  bindToRows,
  dropSecrets,
  rekey,
  retireSecret,
  secrets,
  webhooksWithOwnSecret,
} from './secret-rows.ts';
import { settle } from './settle.ts';
import { deleteState } from './state-rows.ts';
import { holds, saveStep, step } from './steps.ts';

/** The operations of the writing connection. Each is made once, with its statements prepared. */
export const writes = {
  record,
  claim,
  renew,
  settle,
  step,
  holds,
  saveStep,
  deleteState,
  resetEvents,
  makeReady,
  lastSeq,
  addSecret,
  retireSecret,
  secrets,
  webhooksWithOwnSecret,
  dropSecrets,
  rekey,
  bindToRows,
  resetLog,
  emptyLog,
  unzeroedBytes,
  rewrite,
  meta,
  metaOrSet,
  quarantine,
  hasQuarantined,
  admit,
  prune,
  settings,
  ping,
};
