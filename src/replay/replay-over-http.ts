import { type MonotonicClock, systemClock } from '../base/clock.ts';
import { signNotification } from '../notification/token.ts';
import { AnswerTally } from './answer-tally.ts';
import { firstLines } from './first-lines.ts';
import { ReceiverClient, reasonOf, wordOf } from './receiver-client.ts';
import type { RecordedEvent, Source } from './recorded-event.ts';
import { type Listener, UNINTERRUPTED, UNWATCHED } from './replay-listener.ts';
import type { Report } from './report-file.ts';
import { type Reshaping, reshaped } from './reshape.ts';
import { Senders } from './senders.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface HttpReplay extends Reshaping {
  /** the receiver */
  readonly to: URL;
  readonly keys: Pick<SigningKeys, 'keyFor'>;
  /** how many notifications are sent at once; one keeps the recorded order exactly */
  readonly concurrency?: number | undefined;
  /** how long to wait for each answer */
  readonly timeoutMs?: number | undefined;
  readonly report?: Report | undefined;
  readonly clock?: MonotonicClock;
  readonly listener?: Listener;
  /** ends the sending; notifications under way are still answered */
  readonly signal?: AbortSignal;
}

/** The result of a replay over HTTP. */
export interface HttpReplayResult {
  readonly answers: AnswerTally;
  /** events that were left out, as they have no body any more */
  readonly pruned: number;
}

/** How many notifications wait for their turn at most, for each sender. */
const BACKLOG = 16;
const ANSWER_MS = 10_000;

/** Sends the events of a source to a receiver as the provider does, each signed with the key of its webhook. */
export async function replayOverHttp(source: Source, replay: HttpReplay): Promise<HttpReplayResult> {
  const { clock = systemClock, listener = UNWATCHED, signal = UNINTERRUPTED, concurrency = 1 } = replay;
  const answers = new AnswerTally(listener);
  let pruned = 0;
  const sayBroken = firstLines((text) => listener.say(text));
  const unreplayable = {
    pruned() {
      pruned++;
    },
    broken(line: number, problem: string) {
      sayBroken(`line ${line}: ${problem}`);
      answers.addUnsent('broken line');
    },
  };
  const events = await reshaped(source, replay, { unreplayable, clock, signal });
  const client = new ReceiverClient(replay.to);
  const senders = new Senders({ concurrency, backlog: concurrency * BACKLOG });
  const stage = listener.begin('answered');
  try {
    for await (const event of events) {
      if (signal.aborted) break;
      stage.show(answers.sent, event.share);
      await senders.add(event.resource, () => sendOne(event, { replay, client, answers }));
    }
    if (signal.aborted) senders.drop();
    await senders.idle();
  } finally {
    stage.end();
    client.close();
  }
  return { answers, pruned };
}

interface Sending {
  readonly replay: HttpReplay;
  readonly client: ReceiverClient;
  readonly answers: AnswerTally;
}

async function sendOne(event: RecordedEvent, { replay, client, answers }: Sending): Promise<void> {
  const { keys, report, timeoutMs = ANSWER_MS } = replay;
  const { id, kind, resource, body, webhookId } = event;
  const key = keys.keyFor(webhookId);
  if (!key) {
    answers.addUnsent('no secret');
    await report?.add({ id, kind, resource, outcome: 'no secret' });
    return;
  }
  const answer = await client.post({ body, token: signNotification(body, key), timeoutMs });
  answers.add(id, answer);
  await report?.add({ id, kind, resource, outcome: wordOf(answer), reason: reasonOf(answer) });
}
