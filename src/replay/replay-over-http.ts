import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { seededRandom } from '../base/seeded-random.ts';
import { withDatabase } from '../cli/events/open-database.ts';
import { Progress } from '../cli/events/progress-bar.ts';
import { refuseEmpty } from '../cli/events/refuse-empty.ts';
import { fromDatabase } from '../cli/events/sending/from-database.ts';
import { showOutgoing } from '../cli/events/sending/preview.ts';
import { keepHeapSmall } from '../cli/events/small-heap.ts';
import { withReport } from '../cli/events/with-report.ts';
import { interruptible } from '../cli/interruptible.ts';
import { say, write } from '../cli/print.ts';
import type { Config } from '../config.ts';
import { signNotification } from '../notification/token.ts';
import type { EventFilter } from '../store/event-store.ts';
import { Answers, reasonOf, wordOf } from './answer-tally.ts';
import { pause } from './pause.ts';
import { Transport } from './receiver-client.ts';
import type { Outgoing } from './recorded-event.ts';
import { findRecording, fromRecording } from './recording-source.ts';
import type { Reasons, ReportWriter } from './report-file.ts';
import { asNew, duplicated, newestTime, paced, shuffled } from './reshape.ts';
import { Lanes } from './senders.ts';
import { type SigningKeys, signingKeys } from './signing-keys.ts';

export interface HttpReplay {
  readonly to: URL;
  readonly filter: EventFilter;
  /** a recording, `-` for stdin; without it, the database */
  readonly from: string | undefined;
  readonly secretFile: string | undefined;
  /** Infinity: as fast as it goes */
  readonly speed: number;
  readonly shuffle: boolean;
  readonly seed: number;
  readonly duplicate: number;
  readonly concurrency: number;
  readonly asNew: boolean;
  readonly timeoutMs: number;
  readonly dryRun: boolean;
  readonly allowEmpty: boolean;
  readonly report: string | undefined;
  readonly reasons: Reasons;
  readonly json: boolean;
}

/** So many wait for their turn at most, for each that may be under way. */
const BACKLOG = 16;
const COLLECT_EVERY = 2000;

/** `hookkit events replay --to`. */
export function replayOverHttp(config: Config, replay: HttpReplay): Promise<void> {
  return interruptible('run it again; what was sent already will be answered as duplicate', (signal) =>
    replayUntil(signal, config, replay),
  );
}

/** What cannot be sent of a source, told while it is read. */
interface Unsendable {
  pruned(): void;
  broken(line: number, problem: string): void;
}

/** Reads all that is to be sent, from its start each time. */
type Source = (unsendable: Unsendable) => AsyncIterable<Outgoing>;

const UNHEARD: Unsendable = { pruned() {}, broken() {} };

async function replayUntil(signal: AbortSignal, config: Config, replay: HttpReplay): Promise<void> {
  const answers = new Answers();
  const { dryRun, json } = replay;
  let pruned = 0;
  const unsendable: Unsendable = {
    pruned: () => pruned++,
    broken(line, problem) {
      say(`line ${line}: ${problem}`);
      answers.addUnsent('broken line');
    },
  };
  const refuse = () => refuseEmpty(replay.allowEmpty, { pruned, done: 'sent' });
  await withSource(config, { replay, signal }, async (source) => {
    if (dryRun) {
      const sendable = await showOutgoing(source(unsendable), json);
      if (sendable === 0 && answers.isEmpty) refuse();
      return;
    }
    const keys = await signingKeys(config, replay.secretFile);
    const items = await reshape(source, { replay, unsendable, signal });
    await withReport({ path: replay.report, reasons: replay.reasons }, async (report) => {
      await sendAll(items, { replay, keys, answers, report, signal });
      if (answers.isEmpty) refuse();
    });
  });
  if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
  if (!dryRun) await write(json ? `${JSON.stringify(answers.asJson())}\n` : answers.asTable());
  if (answers.unwanted > 0)
    throw new KitError('REPLAY_FAILED', `${answers.unwanted} notifications were not answered with 200`);
}

interface Reading {
  readonly replay: HttpReplay;
  readonly signal: AbortSignal;
}

/** Works with the recording, or the database, that is to be sent. */
async function withSource(
  config: Config,
  { replay, signal }: Reading,
  work: (source: Source) => Promise<void>,
): Promise<void> {
  const { from: path, filter, asNew } = replay;
  if (path === undefined) {
    const began = systemClock.now();
    return withDatabase(config, (store) =>
      work(({ pruned: onPruned }) => fromDatabase(store, { filter, began, onPruned })),
    );
  }
  const recording = await findRecording(path, { times: asNew ? 2 : 1, signal });
  try {
    await work(({ broken: onBroken }) => fromRecording(recording, { path, filter, onBroken, signal }));
  } finally {
    await recording.close();
  }
}

interface Sending {
  readonly replay: HttpReplay;
  readonly keys: SigningKeys;
  readonly answers: Answers;
  readonly report: ReportWriter | undefined;
  readonly signal: AbortSignal;
}

async function sendAll(items: AsyncIterable<Outgoing>, sending: Sending): Promise<void> {
  const { replay, answers, signal } = sending;
  const transport = new Transport(replay.to);
  const lanes = new Lanes({ concurrency: replay.concurrency, backlog: replay.concurrency * BACKLOG });
  const progress = new Progress({ verb: 'answered' });
  const oneMore = keepHeapSmall(COLLECT_EVERY);
  try {
    for await (const item of items) {
      if (signal.aborted) break;
      oneMore();
      progress.show(answers.sent, item.share);
      await lanes.add(item.resource, () => sendOne(item, transport, sending));
    }
    if (signal.aborted) lanes.drop();
    await lanes.idle();
  } finally {
    progress.end();
    transport.close();
  }
  if (signal.aborted) say(`${answers.sent} notifications were sent and answered:\n${answers.asTable()}`);
  signal.throwIfAborted();
}

async function reshape(
  source: Source,
  { replay, unsendable, signal }: Reading & { readonly unsendable: Unsendable },
): Promise<AsyncIterable<Outgoing>> {
  const random = seededRandom(replay.seed);
  // The newest event may be anywhere: all are read once to find it, so that none is moved into the future.
  const newest = replay.asNew ? await newestTime(source(UNHEARD), signal) : undefined;
  let shaped = source(unsendable);
  if (newest !== undefined) shaped = asNew(shaped, { newest, now: systemClock.now() });
  if (replay.duplicate > 0) shaped = duplicated(shaped, replay.duplicate, random);
  if (replay.shuffle) shaped = shuffled(shaped, random);
  if (replay.speed !== Infinity)
    shaped = paced(shaped, {
      speed: replay.speed,
      now: () => performance.now(),
      wait: (ms) => pause(ms, signal),
    });
  return shaped;
}

async function sendOne(item: Outgoing, transport: Transport, sending: Sending): Promise<void> {
  const { keys, answers, report, replay } = sending;
  const { id, kind, resource, body, webhookId } = item;
  const key = keys.keyFor(webhookId);
  if (!key) {
    answers.addUnsent('no secret');
    await report?.add({ id, kind, resource, outcome: 'no secret' });
    return;
  }
  const token = signNotification(body, key);
  const answer = await transport.post({ body, token, timeoutMs: replay.timeoutMs });
  answers.add(id, answer);
  await report?.add({ id, kind, resource, outcome: wordOf(answer), reason: reasonOf(answer) });
}
