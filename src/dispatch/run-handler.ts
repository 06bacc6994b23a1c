import type { Logger } from 'pino';
import type { Clock, MonotonicClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { textOf } from '../base/thrown.ts';
import { parseJsonText } from '../notification/json.ts';
import { type Payload, parsePayload } from '../notification/payload.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { Claim, StateChange } from '../store/event-store.ts';
import { atWorkOn } from './at-work.ts';
import type { Handler, HandlerContext, Handlers } from './handler.ts';
import { type Once, onceOf, type WaitingStep } from './once.ts';
import { parseReturned, type Returned } from './outcome.ts';
import { patienceOf } from './patience.ts';
import { type ResourceState, runStateOf } from './resource-state.ts';
import type { RunStore } from './run-store.ts';

export interface RunOptions {
  readonly handlers: Handlers;
  readonly store: RunStore;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly timeoutMs: number;
  /** the value of `ctx.statuses` in handlers */
  readonly statuses?: StatusesClient | undefined;
  /** the value of `ctx.app` in handlers */
  readonly app?: unknown;
  /** whether the dispatcher is stopping; without one, it never is */
  readonly isStopping?: (() => boolean) | undefined;
  /** whether its stop is over, and nothing waits for the store any more; without one, it never is */
  readonly isStopOver?: (() => boolean) | undefined;
  /** told when a step of `ctx.once` then waits for the store no more, and so never ends */
  readonly onLeft?: (() => void) | undefined;
  /** told how to ask which steps of `ctx.once` wait for the store */
  readonly onSteps?: ((waiting: () => readonly WaitingStep[]) => void) | undefined;
}

/** The event of a run, and the number of its start. */
export type Assignment = Pick<
  Claim,
  'id' | 'kind' | 'resource' | 'body' | 'receivedAt' | 'starts' | 'replays' | 'late' | 'state'
>;

/** How a handler's run ended. */
export type Run = (Returned | { readonly type: 'dead' | 'timeout'; readonly reason: string }) & {
  /** what the handler changed of the state of its resource, if its event ends with this run */
  readonly state?: readonly StateChange[] | undefined;
};

/** Somebody has taken it out of the database by hand, perhaps for a while. */
const NO_BODY = 'its body is missing in the database: bring it back (a detached partition, a backup)';

/** How long a handler whose signal was aborted may take to end before it is left behind. */
const STOP_MS = 5000;

/**
 * Hands an event to the handler for its kind.
 * @param abort aborted from outside when the attempt must end; also aborted here when the time is over
 */
export async function runHandler(
  event: Assignment,
  abort: AbortController,
  options: RunOptions,
): Promise<Run> {
  if (event.body === '') return { type: 'error', reason: NO_BODY };
  const payload = payloadOf(event.body);
  if (payload.type === 'invalid') return { type: 'dead', reason: `invalid payload: ${payload.problem}` };
  const name = payload.type === 'known' ? payload.notification.event : 'unknown';
  // Each kind's handler takes that kind's notification; the table of kinds ties them together.
  const handler = options.handlers[name] as Handler<unknown> | undefined;
  if (!handler) {
    const reason = payload.type === 'known' ? `no handler for ${name}` : `unknown kind "${payload.kind}"`;
    return { type: 'skip', reason };
  }
  const memory = memoryOf(event, abort.signal, options);
  options.onSteps?.(memory.waiting);
  const ctx = contextOf(event, abort.signal, options, memory);
  const run = atWorkOn(event, () =>
    settle(async () => memory.awaited(parseReturned(await handler(payload.notification, ctx)))),
  );
  const stopTimer = timer(options.clock, options.timeoutMs);
  const first = await Promise.race([run, stopTimer.elapsed.then(() => 'timeout' as const)]);
  stopTimer.cancel();
  const ended = first === 'timeout' ? await timedOut(event, run, abort, { ...options, memory }) : first;
  return memory.end(ended);
}

/** What a handler stores during one run. */
interface Memory extends Pick<Once, 'once' | 'waiting' | 'open'> {
  /** why the run fails although its handler returned; undefined if it does not, or has not returned */
  unawaited(): string | undefined;
  readonly state: ResourceState;
  /**
   * The same run, unless its handler returned while a step still ran: whether that step succeeds would be nobody's concern. Then
   * it waits for the step, so that the next attempt finds its result, and the run has failed. Once the handler
   * has returned, no step begins but those inside steps that are open.
   */
  awaited(run: Run): Run | Promise<Run>;
  /**
   * Ends the run: from now on it stores nothing. Waits for results of steps that have run, even while the store is locked:
   * otherwise the next attempt would run those steps again.
   * @returns the run with what it changed of the state; another end, if no attempt may follow, whatever the handler returned
   */
  end(run: Run): Promise<Run>;
}

function memoryOf(
  { id, resource, state: before }: Assignment,
  signal: AbortSignal,
  options: RunOptions,
): Memory {
  const { store, clock, log } = options;
  const { isStopping = () => false, isStopOver = () => false, onLeft = () => undefined } = options;
  let isOver = false;
  let unstorable: string | undefined;
  let unawaited: string | undefined;
  const {
    once,
    open,
    ended,
    saved,
    close,
    end: endSteps,
    waiting,
  } = onceOf({
    store,
    signal,
    patiently: patienceOf({ clock, log, event: id, isOver: () => isOver, isStopping, isStopOver, onLeft }),
    onUnstorable(reason) {
      unstorable ??= reason;
    },
  });
  const { state, end } = runStateOf(resource, before);
  return {
    once,
    waiting,
    open,
    unawaited: () => unawaited,
    state,
    awaited(run) {
      close();
      const names = run.type === 'error' ? [] : open();
      if (names.length === 0) return run;
      const reason = `the handler returned while ${named(names)} still ran: await each ctx.once`;
      unawaited = reason;
      return ended().then(() => ({ type: 'error', reason }));
    },
    async end(run) {
      endSteps();
      const changes = end();
      await saved();
      isOver = true;
      if (unstorable !== undefined) return { type: 'dead', reason: unstorable };
      const isEnd = run.type === 'handled' || run.type === 'skip' || run.type === 'fail';
      return isEnd && changes.length > 0 ? { ...run, state: changes } : run;
    },
  };
}

/** A text that an earlier version recorded may be one that this version does not read. */
function payloadOf(body: string): Payload | { readonly type: 'invalid'; readonly problem: string } {
  try {
    return parsePayload(parseJsonText(body));
  } catch (error) {
    return { type: 'invalid', problem: messageOf(error) };
  }
}

/** Aborts, and waits a little: the next attempt is not to meet the last one still at work. */
async function timedOut(
  event: Assignment,
  run: Promise<Run>,
  abort: AbortController,
  { memory, ...options }: RunOptions & { readonly memory: Memory },
): Promise<Run> {
  const reason = `the handler took longer than ${options.timeoutMs} ms`;
  giveUp(event, abort, new DOMException(reason, 'TimeoutError'));
  const stop = timer(options.clock, STOP_MS);
  const ended = await Promise.race([run, stop.elapsed]);
  stop.cancel();
  if (ended) return { type: 'timeout', reason };
  const open = memory.open();
  const unawaited = memory.unawaited();
  if (unawaited !== undefined)
    return {
      type: 'timeout',
      reason: `${unawaited}; ${named(open)} had not ended after ${options.timeoutMs} ms`,
    };
  const waiting = memory.waiting().map(({ step }) => step);
  let after = 'it went on after ctx.signal was aborted';
  if (waiting.length > 0) after = `${named(waiting)} waited for the store`;
  else if (open.length > 0) after = `${after}, as ${named(open)} had not ended`;
  return { type: 'timeout', reason: `${reason}, and ${after}` };
}

function timer(clock: Clock, ms: number): { elapsed: Promise<void>; cancel: () => void } {
  let cancel = () => {};
  const elapsed = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  return { elapsed, cancel };
}

/** Steps, for people. */
function named(steps: readonly string[]): string {
  return `${steps.map((step) => JSON.stringify(step)).join(', ')} of ctx.once`;
}

/** Aborts a handler's signal. Its listeners are the handler's, and so are the errors that they throw. */
export function giveUp(event: Assignment, abort: AbortController, reason: unknown): void {
  atWorkOn(event, () => abort.abort(reason));
}

async function settle(work: () => Promise<Run>): Promise<Run> {
  try {
    return await work();
  } catch (error) {
    return { type: 'error', reason: textOf(error) };
  }
}

function contextOf(
  event: Assignment,
  signal: AbortSignal,
  { log, statuses, app }: RunOptions,
  { once, state }: Memory,
): HandlerContext {
  const { id, starts, replays, late, receivedAt, kind, resource } = event;
  let ofEvent: Logger | undefined;
  return {
    id,
    attempt: starts,
    replay: replays > 0,
    late,
    receivedAt: new Date(receivedAt),
    signal,
    // Made when it is first used: most handlers do not log, and a logger of its own costs as much as all else here.
    get log() {
      ofEvent ??= log.child({ event: id, kind, resource, attempt: starts });
      return ofEvent;
    },
    once,
    state,
    statuses,
    app,
  };
}
