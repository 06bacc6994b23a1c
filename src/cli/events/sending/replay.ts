import { systemClock } from '../../../clock.ts';
import type { Config } from '../../../config.ts';
import { KitError } from '../../../errors.ts';
import { signNotification } from '../../../notification/token.ts';
import { seededRandom } from '../../../seeded-random.ts';
import type { EventFilter } from '../../../store/event-store.ts';
import { interruptible } from '../../interruptible.ts';
import { say, write } from '../../print.ts';
import { withDatabase } from '../open-database.ts';
import { pause } from '../pause.ts';
import { Progress } from '../progress.ts';
import type { ReportWriter } from '../report.ts';
import { keepHeapSmall } from '../small-heap.ts';
import { withReport } from '../with-report.ts';
import { Answers, reasonOf, wordOf } from './answers.ts';
import { fromDatabase } from './from-database.ts';
import { fromRecording } from './from-recording.ts';
import { Lanes } from './lanes.ts';
import type { Outgoing } from './outgoing.ts';
import { showOutgoing } from './preview.ts';
import { asNew, duplicated, paced, shuffled } from './reshape.ts';
import { type SigningKeys, signingKeys } from './signing-keys.ts';
import { Transport } from './transport.ts';

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
  readonly report: string | undefined;
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

async function replayUntil(signal: AbortSignal, config: Config, replay: HttpReplay): Promise<void> {
  const answers = new Answers();
  const { from, filter, dryRun, json } = replay;
  const send = async (items: AsyncIterable<Outgoing>) => {
    if (dryRun) return showOutgoing(items, json);
    const keys = await signingKeys(config, replay.secretFile);
    await withReport(replay.report, (report) => sendAll(items, { replay, keys, answers, report, signal }));
  };
  if (from === undefined) {
    let pruned = 0;
    await withDatabase(config, (store) => send(fromDatabase(store, filter, () => pruned++)));
    if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
  } else {
    const onBroken = (line: number, problem: string) => {
      say(`line ${line}: ${problem}`);
      answers.addUnsent('broken line');
    };
    await send(fromRecording(from, { filter, onBroken, signal }));
  }
  if (!dryRun) await write(json ? `${JSON.stringify(answers.asJson())}\n` : answers.asTable());
  if (answers.unwanted > 0)
    throw new KitError('REPLAY_FAILED', `${answers.unwanted} notifications were not answered with 200`);
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
    for await (const item of reshape(items, replay, signal)) {
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

function reshape(
  items: AsyncIterable<Outgoing>,
  replay: HttpReplay,
  signal: AbortSignal,
): AsyncIterable<Outgoing> {
  const random = seededRandom(replay.seed);
  let shaped = items;
  if (replay.asNew) shaped = asNew(shaped, systemClock.now());
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
