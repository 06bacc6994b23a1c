import { messageOf } from '../base/errors.ts';
import type { Claim, DoneStep, Queue } from '../store/event-store.ts';
import { type AsJson, checkName, jsonTextOf } from './stored-json.ts';

const MOST_BYTES = 1024 * 1024;
const STORABLE =
  'Return a small JSON value or nothing from it, and replay the event: the step then runs again';

export interface OnceOptions {
  readonly store: { readonly queue: Pick<Queue, 'step' | 'saveStep'> };
  /** Asks the store until it answers: a step whose result is not stored would run again. Undefined where it no longer matters. */
  insist<T>(ask: () => Promise<T>): Promise<T | undefined>;
}

/** Makes `ctx.once` for one run of a handler: the store remembers the steps that are done, as long as the run has its lease. */
export function onceOf(
  { lease, subscriber, resource, seq }: Pick<Claim, 'lease' | 'subscriber' | 'resource' | 'seq'>,
  { store: { queue }, insist }: OnceOptions,
) {
  const key = { lease, subscriber, resource, seq };
  /** the steps of this run, with the result that one under way will have; one that threw may be called again */
  const called = new Map<string, Promise<DoneStep['result']> | undefined>();
  let isClosed = false;
  let unstorable: string | undefined;

  const run = async (step: string, fn: () => unknown): Promise<DoneStep['result']> => {
    const known = await insist(() => queue.step({ ...key, name: step }));
    if (known?.done) return known.done.result;
    if (!known?.isHeld) throw new Error(`${overFor(step)}: it does not run`);
    const given = await fn();
    let result: string | undefined;
    try {
      const what = `step "${step}" of ctx.once has run, and its result`;
      if (given !== undefined) result = jsonTextOf(what, given, MOST_BYTES);
    } catch (error) {
      unstorable ??= `${messageOf(error)}. ${STORABLE}`;
      throw error;
    }
    const stored = await insist(() => queue.saveStep({ ...key, name: step, result }));
    if (stored) return stored.result;
    throw new Error(`${overFor(step)}: its result is not stored, and the next attempt runs it again`);
  };

  return {
    async once<T>(step: string, fn: () => T | Promise<T>): Promise<AsJson<T>> {
      checkName('a step of ctx.once', step);
      if (isClosed) throw new Error(`${overFor(step)}: it does not run`);
      // In a loop, all calls after the first would silently do nothing.
      if (called.has(step)) throw new Error(calledTwice(step));
      const asked = run(step, fn);
      called.set(step, asked);
      const isDone = () => called.set(step, undefined);
      asked.then(isDone, () => called.delete(step));
      const result = await asked;
      return (result === undefined ? undefined : JSON.parse(result)) as AsJson<T>;
    },
    /** The steps that have begun and not ended. */
    open: () => [...called].flatMap(([step, asked]) => (asked ? step : [])),
    /**
     * From now on no step begins: the handler has returned. Resolves when no step is open, however they ended.
     * @returns why the result of a step that ran cannot be stored: no retry may run that step again
     */
    async end(): Promise<string | undefined> {
      isClosed = true;
      await Promise.allSettled(called.values());
      return unstorable;
    },
  };
}

const overFor = (step: string) =>
  `the attempt that came to step "${step}" of ctx.once has ended (pass ctx.signal to everything that waits, and await ctx.once)`;

const calledTwice = (step: string) =>
  `the step "${step}" of ctx.once is called twice in one run: give each call a name of its own, such as \`${step} \${id}\``;
