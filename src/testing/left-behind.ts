import { AsyncLocalStorage } from 'node:async_hooks';
import { nextTick } from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { promiseHooks } from 'node:v8';
import { isInUsersFiles, textOf } from '../base/thrown.ts';
import type { Handler } from '../dispatch/handler.ts';
import { fail } from '../dispatch/outcome.ts';
import type { ResourceState } from '../dispatch/resource-state.ts';

/** A run of a handler. */
type Run = { readonly kind: string };

/** A promise that was made while a handler ran, or by what the handler set off. */
interface Made {
  readonly run: Run;
  /** has the stack of its making as text, once that is read */
  readonly at: Error;
  /** whether it was made of another one, as `then` and `await` do */
  readonly isDerived: boolean;
  isAwaited: boolean;
  /** why it was rejected, where nobody handles that */
  rejection?: string;
}

/** Finds what handlers leave behind: calls without `await`, rejections without `catch`, changes of `ctx.state` without `set`. */
export class LeftBehind {
  readonly #scope = new AsyncLocalStorage<Run>();
  /** those that are not judged yet */
  readonly #made = new Map<Promise<unknown>, Made>();
  readonly #found = new Set<string>();
  /** those that have not ended */
  readonly running = new Set<Run>();
  /** the ids of events whose handlers were given up, as they never end */
  readonly #unended = new Set<string>();
  /** Ends it. */
  readonly stop = promiseHooks.createHook({
    init: (promise, parent) => this.#wasMade(promise, parent !== undefined),
    settled: (promise) => this.#wasSettled(promise),
  });

  /**
   * The same handler, watched.
   * @param limit calls what it is given once a run is given up: it fails then, and its event never runs again. It returns what cancels that
   */
  of(handler: Handler<object>, kind: string, limit = (_giveUp: () => void) => () => {}): Handler<object> {
    return async (event, ctx) => {
      if (this.#unended.has(ctx.id)) return fail(NEVER_ENDS);
      const { promise: givenUp, reject } = Promise.withResolvers<never>();
      const cancel = limit(() => {
        this.#unended.add(ctx.id);
        reject(new Error(NEVER_ENDS));
      });
      const run = { kind };
      const running = <T>(work: () => T) => Promise.race([this.#scope.run(run, work), givenUp]);
      this.running.add(run);
      const { state, lost } = watchedState(ctx.state);
      // The kit's own work for a step is not the handler's, and watching it would take most of the time.
      const once: typeof ctx.once = (step, fn) =>
        this.#scope.exit(() => ctx.once(step, typeof fn === 'function' ? () => running(fn) : fn));
      try {
        const outcome = await running(() => handler(event, { ...ctx, state, once }));
        for (const name of lost()) this.#found.add(`the handler of ${kind} ${CHANGED} "${name}"`);
        return outcome;
      } finally {
        cancel();
        this.running.delete(run);
      }
    };
  }

  /** Ask in a later turn of the event loop than that in which a handler has ended. @throws Error with what was found since it was last asked */
  check(): void {
    for (const [promise, made] of this.#made) {
      if (this.running.has(made.run)) continue;
      this.#made.delete(promise);
      const { run, isAwaited, rejection = 'does not await what it calls:' } = made;
      if (!made.rejection && (isAwaited || !isUsersCall(made))) continue;
      // Enough to come from a client's innards to the handler, which lacks the `await`.
      const places = framesOf(made).filter(isInUsersFiles).slice(0, 4);
      this.#found.add([`the handler of ${run.kind} ${rejection}`, ...places].join('\n'));
    }
    const found = [...this.#found];
    this.#found.clear();
    if (found.length > 0) throw new Error(found.join('\n'));
  }

  #wasMade(promise: Promise<unknown>, isDerived: boolean): void {
    const run = this.#scope.getStore();
    if (!run) return;
    const made: Made = { run, at: new Error(), isDerived, isAwaited: false };
    // All that waits for a promise asks for its constructor. The hooks tell of most, but not of `for await`.
    const get = () => {
      made.isAwaited = true;
      return Object.getPrototypeOf(promise).constructor;
    };
    Object.defineProperty(promise, 'constructor', { get, configurable: true });
    this.#made.set(promise, made);
  }

  #wasSettled(promise: Promise<unknown>): void {
    const made = this.#made.get(promise);
    if (!made) return;
    const wasRejected = (error: unknown) => {
      if (!made.isAwaited) made.rejection = `leaves a rejection unhandled: ${textOf(error)}`;
    };
    // Before Node looks for unhandled rejections, and tells the test runner, which knows of no handler.
    nextTick(() => {
      if (made.isAwaited) return;
      this.#scope.exit(() => promise.catch(wasRejected));
      made.isAwaited = false;
    });
  }
}

export const NEVER_ENDS = 'its handler still ran after twice its time-out (HANDLER_TIMEOUT_MS)';

const CHANGED = 'changes a value of ctx.state.get and does not set it, so that the change is lost:';

/** Where a promise was made, without what is of the hooks. */
function framesOf({ at }: Made): string[] {
  const lines = String(at.stack).split('\n').slice(1);
  return lines.filter((line) => !/\bat async |\/left-behind\.|\bnode:internal\/promise_hooks/.test(line));
}

/** Frames between a call of the user and the function that it calls. */
const BETWEEN = /\(<anonymous>\)$|\bat fetch \(node:|\/node_modules\/jest-mock\//;

/**
 * Whether a promise is that of a call of the user: made by the user's function, a fake of Jest, or one that it calls. What a library or
 * Node makes for itself is not, nor is what `await` and `Promise.race` make of others.
 */
function isUsersCall(made: Made): boolean {
  const frames = framesOf(made);
  const [first = '', second = ''] = frames;
  const isOfItself = made.isDerived
    ? !first.includes('at Promise.then ') || /at Promise\.(race|all|any|allSettled) /.test(second)
    : first.includes('at Async-from-Sync Iterator');
  const called = frames.filter((frame) => !BETWEEN.test(frame));
  return !isOfItself && called.slice(0, made.isDerived ? 1 : 2).some(isInUsersFiles);
}

/** `ctx.state`, and the names of values that were changed and not set. */
function watchedState(state: ResourceState) {
  const given: { readonly name: string; readonly value: unknown; readonly copy: unknown }[] = [];
  const get: ResourceState['get'] = (name) => {
    const value = state.get(name);
    given.push({ name, value, copy: state.get(name) });
    return value as never; // its type is what the handler says
  };
  const isLost = ({ name, value, copy }: (typeof given)[number]) =>
    !isDeepStrictEqual(value, copy) && isDeepStrictEqual(state.get(name), copy);
  return { state: { ...state, get }, lost: () => given.filter(isLost).map(({ name }) => name) };
}
