import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { textOf } from '../base/thrown.ts';
import { parsePayload } from '../notification/payload.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { Claim, StateChange } from '../store/event-store.ts';
import type { Handler, HandlerContext, Handlers } from './handler.ts';
import { type Once, onceOf, type StepStore } from './once.ts';
import { parseReturned, type Returned } from './outcome.ts';
import { atWorkOn, lineOf } from './process-guard.ts';
import { type ResourceState, runStateOf } from './resource-state.ts';

export interface RunOptions {
  readonly handlers: Handlers;
  readonly store: StepStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeoutMs: number;
  /** the value of `ctx.statuses` in handlers */
  readonly statuses?: StatusesClient | undefined;
  /** the value of `ctx.app` in handlers */
  readonly app?: unknown;
  /** told when the store does not answer a step of `ctx.once`, which asks again */
  readonly onStoreError?: ((error: unknown) => void) | undefined;
}

/** The event of a run, and the number of its start. */
export type Assignment = Omit<Claim, 'attempts' | 'askedAt'>;

/** How a handler's run ended. */
export type Run = (Returned | { readonly type: 'dead' | 'timeout'; readonly reason: string }) & {
  /** what the handler changed of the state of its resource */
  readonly state?: readonly StateChange[] | undefined;
};

/** How long after the abort of its signal a handler is told of that still runs. */
const DEAF_MS = 5000;
const DEAF =
  'the handler still runs after its time, and the other events of its media or channel wait for it';

/**
 * Hands an event to the handler for its kind. Resolves when the handler and its steps have ended, however long that takes: before that,
 * no other event of the resource may run.
 * @param abort aborted from outside when the run must end; also aborted here when the time is over
 */
export async function runHandler(
  event: Assignment,
  abort: AbortController,
  options: RunOptions,
): Promise<Run> {
  if (event.body === '') return { type: 'dead', reason: 'invalid payload: its body was removed' };
  const payload = parsePayload(JSON.parse(event.body));
  if (payload.type === 'invalid') return { type: 'dead', reason: `invalid payload: ${payload.problem}` };
  const name = payload.type === 'known' ? payload.notification.event : 'unknown';
  // Each kind's handler takes that kind's notification; the table of kinds ties them together.
  const handler = options.handlers[name] as Handler<unknown> | undefined;
  if (!handler) {
    const reason = payload.type === 'known' ? `no handler for ${name}` : `unknown kind "${payload.kind}"`;
    return { type: 'skip', reason };
  }
  const steps = onceOf({ ...options, claim: event, signal: abort.signal });
  const { state, end: endState } = runStateOf(event.resource, event.state);
  const ctx = contextOf(event, abort.signal, options, { once: steps.once, state });
  const { clock, log, timeoutMs } = options;
  let late: string | undefined;
  let cancel = clock.after(timeoutMs, () => {
    late = `the handler took longer than ${timeoutMs} ms`;
    giveUp(event, abort, new DOMException(late, 'TimeoutError'));
    cancel = clock.after(DEAF_MS, () => log.warn({ ...lineOf(event), steps: steps.open() }, DEAF));
  });
  const ended = await atWorkOn(event, async (): Promise<Run> => {
    try {
      return parseReturned(await handler(payload.notification, ctx));
    } catch (error) {
      return { type: 'error', reason: textOf(error) };
    }
  });
  const open = steps.open().map((step) => JSON.stringify(step));
  await steps.end();
  const changes = endState();
  cancel();
  const unstorable = steps.unstorable();
  if (unstorable !== undefined) return { type: 'dead', reason: unstorable };
  if (late !== undefined) return { type: 'timeout', reason: late };
  if (ended.type === 'error') return ended;
  const unawaited = `the handler returned while ${open.join(', ')} of ctx.once still ran: await each ctx.once`;
  if (open.length > 0) return { type: 'error', reason: unawaited };
  return changes.length > 0 ? { ...ended, state: changes } : ended;
}

/** Aborts a handler's signal. Its listeners are the handler's, and so are the errors that they throw. */
export function giveUp(event: Assignment, abort: AbortController, reason: unknown): void {
  atWorkOn(event, () => abort.abort(reason));
}

function contextOf(
  event: Assignment,
  signal: AbortSignal,
  { log, statuses, app }: RunOptions,
  memory: Pick<Once, 'once'> & { readonly state: ResourceState },
): HandlerContext {
  const { id, starts, replays, late, receivedAt } = event;
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
      ofEvent ??= log.child(lineOf(event));
      return ofEvent;
    },
    ...memory,
    statuses,
    app,
  };
}
