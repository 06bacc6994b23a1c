import { textOf } from '../base/thrown.ts';
import { type Kind, type Slot, slotOf, TOLD } from '../notification/kinds.ts';
import { problemIn } from '../notification/payload.ts';
import type { Parts } from '../observer.ts';
import type { StatusesClient } from '../provider/index.ts';
import type { Claim } from '../store/event-store.ts';
import { ofSubscriber } from '../store/stored.ts';
import type { Handler, HandlerContext } from './handler.ts';
import { type OnceOptions, onceOf } from './once.ts';
import type { ReadyApp } from './open-app.ts';
import { parseReturned, type Returned, type Run } from './outcome.ts';
import { atWorkOn } from './process-guard.ts';
import { runStateOf } from './resource-state.ts';

/** Handlers, and what they share. */
export interface RunningApp extends Omit<ReadyApp, 'settings' | 'start' | 'routes'> {
  /** whose handlers these are; without it, those without a name */
  readonly subscriber?: string | undefined;
  /** the value of `ctx.app` */
  readonly value?: unknown;
  /** the value of `ctx.statuses` */
  readonly statuses?: StatusesClient | undefined;
}

export interface RunOptions extends OnceOptions, Pick<Parts, 'config' | 'clock' | 'log'> {
  readonly app: RunningApp;
}

/** A start of an event. */
export interface Start {
  readonly claim: Omit<Claim, 'attempts' | 'askedAt'>;
  /** aborted by the dispatcher when the run must end, and by the run itself after HANDLER_TIMEOUT_MS */
  readonly abort: AbortController;
}

/** How long after the abort of its signal the log warns of a handler that still runs. */
const DEAF_MS = 5000;
const DEAF =
  'the handler still runs after its time, and the other events of its media or channel wait for it';

/**
 * Hands an event to the handler for its kind. Resolves when the handler and its steps have ended, however long that takes: before that,
 * no other event of the resource may run. The log of the options names the event in every line.
 */
export async function runHandler(start: Start, options: RunOptions): Promise<Run> {
  const { claim: event, abort } = start;
  const { app, clock, log } = options;
  if (event.body === '') return { type: 'dead', reason: 'invalid payload: its body was removed' };
  const body = JSON.parse(event.body);
  const problem = TOLD.includes(event.origin) ? problemIn(body) : undefined;
  if (problem !== undefined) return { type: 'dead', reason: `invalid payload: ${problem}` };
  const name = slotOf(event);
  // Each kind's handler takes that kind's notification; the table of kinds ties them together.
  const handler = (app.handlers as Readonly<Record<Slot, Handler<object> | undefined>>)[name];
  if (!handler) {
    const what = name === 'unknown' ? `unknown kind "${event.kind}"` : name;
    const others = Object.entries((!event.subscriber && app.subscribers) || {});
    const takers = others.filter(([, { handlers }]) => handlers[name as Kind]).map(([taker]) => taker);
    const taken = `it is handled by subscriber ${takers.join(', ')}`;
    const reason = takers.length > 0 ? taken : `no handler for ${what}`;
    return { type: 'skip', reason, lacks: name };
  }
  const wrapped = app.wrap?.(handler, ofSubscriber(name, event.subscriber), event) ?? handler;
  const steps = onceOf(event, options);
  const { end: endState, ...leaving } = runStateOf(event, clock);
  const ctx: HandlerContext = {
    id: event.id,
    subscriber: event.subscriber,
    attempt: event.starts,
    replay: event.replays > 0,
    origin: event.origin,
    late: event.late,
    repeats: event.repeats,
    receivedAt: new Date(event.receivedAt),
    now: () => clock.now(),
    signal: abort.signal,
    log,
    once: steps.once,
    ...leaving,
    statuses: app.statuses,
    app: app.value,
  };
  const { timeoutMs = options.config.HANDLER_TIMEOUT_MS } =
    (event.origin === 'schedule' && app.schedule?.[body.name]) || {};
  let overdue: string | undefined;
  let cancel = clock.after(timeoutMs, () => {
    overdue = `the handler took longer than ${timeoutMs} ms`;
    giveUp(start, overdue, 'TimeoutError');
    cancel = clock.after(DEAF_MS, () => log.warn({ steps: steps.open() }, DEAF));
  });
  const ended = await atWorkOn(event, async (): Promise<Returned> => {
    try {
      return parseReturned(await wrapped(body, ctx));
    } catch (error) {
      return { type: 'error', reason: textOf(error) };
    }
  });
  const open = steps.open().map((step) => JSON.stringify(step));
  const unstorable = await steps.end();
  const changes = endState();
  cancel();
  if (unstorable !== undefined) return { type: 'dead', reason: unstorable };
  if (overdue !== undefined) return { type: 'timeout', reason: overdue };
  if (ended.type === 'error') return ended;
  const unawaited = `the handler returned while ${open.join(', ')} of ctx.once still ran: await each ctx.once`;
  if (open.length > 0) return { type: 'error', reason: unawaited };
  return { ...ended, ...changes };
}

/** Aborts a handler's signal. The listeners of the signal, and the errors that they throw, are the handler's. */
export function giveUp({ claim, abort }: Start, why: string, name = 'AbortError'): void {
  atWorkOn(claim, () => abort.abort(new DOMException(why, name)));
}
