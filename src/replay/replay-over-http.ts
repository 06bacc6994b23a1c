import { systemClock } from '../base/clock.ts';
import { visibleLine } from '../base/text.ts';
import { signNotification } from '../notification/token.ts';
import { postNotification, refusalReasonOf, type SigningKeys, wordOf } from './receiver-client.ts';
import { type ReplayListener, UNINTERRUPTED, UNWATCHED } from './replay-listener.ts';
import { type Reshaping, reshaped } from './reshape.ts';
import { LeftOut, type RecordedEvent, type Source } from './sources.ts';

export interface HttpReplay extends Reshaping {
  /** the receiver */
  readonly to: URL;
  readonly keys: Pick<SigningKeys, 'keyFor'>;
  /** how many notifications are sent at once; one keeps the recorded order exactly */
  readonly concurrency?: number | undefined;
  /** how long to wait for each answer */
  readonly timeoutMs?: number | undefined;
  readonly listener?: ReplayListener;
  /** ends the sending; notifications under way are still answered */
  readonly signal?: AbortSignal;
}

const ANSWER_MS = 10_000;
const NO_SECRET = 'no secret';
const BROKEN = 'broken line';
const WANTED: ReadonlySet<string> = new Set(['accepted', 'duplicate', '200']);

/**
 * Sends the events of a source to a receiver as the provider does, each signed with the key of its webhook.
 * @returns how many notifications came to each end: an answer in a word, or why the notification was not sent; how many were sent, and how
 *   many not or not answered with 200; and how many events were left out, as they have no body any more
 */
export async function replayOverHttp(source: Source, replay: HttpReplay) {
  const { to, keys, timeoutMs = ANSWER_MS, concurrency = 1 } = replay;
  const { listener = UNWATCHED, signal = UNINTERRUPTED } = replay;
  const leftOut = new LeftOut((text) => listener.say(text));
  using stage = listener.begin('answered');
  const counts = new Map<string, number>();
  let sent = 0;
  const send = async ({ id, body, webhookId, share }: RecordedEvent) => {
    const key = keys.keyFor(webhookId);
    const signed = key && { body, token: signNotification(body, key), timeoutMs };
    const answer = signed && (await postNotification(to, signed));
    const outcome = answer ? wordOf(answer) : NO_SECRET;
    if (answer && !WANTED.has(outcome) && !counts.has(outcome)) {
      const reason = refusalReasonOf(answer);
      listener.say(`${visibleLine(outcome)}${reason === undefined ? '' : ` (${reason})`}: event ${id}`);
    }
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (answer) sent++;
    stage.show(sent, share);
  };
  const events = reshaped(source, replay, { leftOut, clock: systemClock, signal });
  await sendEach(events, send, { concurrency, signal });
  if (leftOut.broken > 0) counts.set(BROKEN, leftOut.broken);
  const unwanted = [...counts].reduce((sum, [word, count]) => (WANTED.has(word) ? sum : sum + count), 0);
  return { counts, sent, unwanted, pruned: leftOut.pruned };
}

/** How many events are read ahead for each that is sent. */
const AHEAD = 16;

/**
 * Sends several events at once, but those of one resource one after the other. Of the events whose resource is free, the
 * one that was recorded first begins first. Only a few are read ahead, so that a long recording is never in memory as a whole.
 */
async function sendEach(
  events: AsyncIterable<RecordedEvent>,
  send: (event: RecordedEvent) => Promise<void>,
  { concurrency, signal }: { readonly concurrency: number; readonly signal: AbortSignal },
): Promise<void> {
  const waiting: RecordedEvent[] = [];
  const underWay = new Map<string, Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const run = async (event: RecordedEvent) => {
    await send(event).catch((error) => {
      failure ??= { error };
    });
    underWay.delete(event.resource);
    if (failure || signal.aborted) waiting.length = 0;
    begin();
  };
  const begin = () => {
    while (underWay.size < concurrency) {
      const place = waiting.findIndex(({ resource }) => !underWay.has(resource));
      const [event] = place === -1 ? [] : waiting.splice(place, 1);
      if (!event) return;
      underWay.set(event.resource, run(event));
    }
  };
  for await (const event of events) {
    if (failure || signal.aborted) break;
    waiting.push(event);
    begin();
    while (waiting.length >= concurrency * AHEAD) await Promise.race(underWay.values());
  }
  while (underWay.size > 0) await Promise.race(underWay.values());
  if (failure) throw failure.error;
}
