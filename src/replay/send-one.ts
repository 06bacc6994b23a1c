import type { KeyObject } from 'node:crypto';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { type Fault, faultyRequest } from './faulty-requests.ts';
import { type Answer, ReceiverClient } from './receiver-client.ts';

export interface Sending {
  /** the receiver */
  readonly to: URL;
  readonly key: KeyObject;
  /** breaks the notification in one way */
  readonly fault?: Fault | undefined;
  /** the receiver's limit for bodies, in bytes */
  readonly bodyLimit: number;
  /** how long to wait for the answer; undefined: 10 s, with the fault `slow` two minutes */
  readonly timeoutMs?: number | undefined;
}

const ANSWER_MS = 10_000;
const SLOW_ANSWER_MS = 120_000;

/** Signs one notification and sends it. */
export async function sendNotification(
  body: Buffer,
  { to, key, fault, bodyLimit, timeoutMs = fault === 'slow' ? SLOW_ANSWER_MS : ANSWER_MS }: Sending,
): Promise<{ readonly answer: Answer; readonly ms: number }> {
  const client = new ReceiverClient(to);
  const began = systemClock.monotonic();
  const answer = await client
    .post({ ...faultyRequest(body, { fault, key, bodyLimit }), timeoutMs })
    .finally(() => client.close());
  return { answer, ms: Math.round(systemClock.monotonic() - began) };
}

/** The answers of a server that takes no notifications there. */
const NOT_THERE: ReadonlySet<number> = new Set([404, 405]);

/** @throws KitError REPLAY_FAILED unless the receiver took the notification, or refused a broken one */
export function checkAnswer(answer: Answer, fault: Fault | undefined): void {
  const mayCutOff = fault === 'truncated' || fault === 'slow';
  if (answer.status === undefined && !(mayCutOff && !answer.isLate && answer.error !== 'ECONNREFUSED'))
    throw new KitError('REPLAY_FAILED', 'there was no answer');
  if (fault === undefined && answer.status !== 200)
    throw new KitError('REPLAY_FAILED', 'the receiver did not take the notification');
  if (fault === undefined || answer.status === undefined) return;
  if (answer.status < 400)
    throw new KitError(
      'REPLAY_FAILED',
      `the receiver took the notification although it is ${fault}: this receiver is not safe`,
    );
  if (NOT_THERE.has(answer.status))
    throw new KitError('REPLAY_FAILED', 'nothing takes notifications there: correct the path of --to');
  if (answer.status >= 500)
    throw new KitError(
      'REPLAY_FAILED',
      'the receiver failed, and so has not refused the notification: send it again once it works',
    );
}
