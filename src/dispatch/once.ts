import { AsyncLocalStorage } from 'node:async_hooks';
import { shown } from '../base/thrown.ts';
import type { AsJson } from './as-json.ts';
import type { RunStore, StepResult } from './run-store.ts';
import { checkName, jsonTextOf } from './stored-json.ts';

const MOST_BYTES = 1024 * 1024;

/**
 * Why a run's signal is aborted where its lease has run out, or may have: another process may begin the next attempt, so that the
 * handler waits for nothing that is stored any more.
 */
export class LeaseLost extends DOMException {
  constructor(message: string) {
    super(message, 'AbortError');
  }
}

export interface OnceOptions {
  readonly store: RunStore;
  /** that of the run */
  readonly signal: AbortSignal;
  /** repeats a request to the store while the store is unavailable */
  readonly patiently: <T>(request: () => Promise<T>) => Promise<T>;
  /** told why the result of a step that ran cannot be stored: no retry may run that step again */
  readonly onUnstorable: (reason: string) => void;
}

/** A step that waits for the store. */
export interface WaitingStep {
  readonly step: string;
  /** it waits for its result to be stored; else it waits for whether it runs */
  readonly hasRun: boolean;
}

/** `ctx.once` for one run of a handler, and a wait for what it still stores. */
export interface Once {
  once<T>(step: string, fn: () => T | Promise<T>): Promise<AsJson<T>>;
  /** The steps that have begun and not ended. */
  open(): readonly string[];
  /** Resolves when no step is open, however they ended. */
  ended(): Promise<void>;
  /** From now on only steps inside open ones begin: the handler has returned. */
  close(): void;
  /** From now on no step begins: the attempt has ended. */
  end(): void;
  /** Resolves when the results of all steps that have run are stored or refused. */
  saved(): Promise<void>;
  /** The steps that wait for the store now. */
  waiting(): readonly WaitingStep[];
}

/** The steps inside which code runs, with the run that they are of. */
const inside = new AsyncLocalStorage<readonly { readonly of: object; readonly step: string }[]>();

/** Makes `ctx.once`: the store remembers the steps that are done, as long as the run's attempt has its lease. */
export function onceOf({ store, signal, patiently, onUnstorable }: OnceOptions): Once {
  const underWay = new Map<string, Promise<StepResult>>();
  const asking = new Set<string>();
  const saving = new Map<Promise<unknown>, string>();
  let isClosed = false;
  let isOver = false;

  /** The same, unless the lease is lost before: what the store says then comes too late for the handler. */
  const unlessLost = async <T>(step: string, answer: Promise<T>): Promise<T> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const check = () => {
      if (signal.reason instanceof LeaseLost)
        reject(new Error(`${overFor(step)}: ${signal.reason.message}`, { cause: signal.reason }));
    };
    check();
    signal.addEventListener('abort', check);
    try {
      return await Promise.race([answer, promise]);
    } finally {
      signal.removeEventListener('abort', check);
    }
  };
  const save = async (step: string, result: string | null): Promise<StepResult> => {
    const stored = patiently(() => store.saveStep(step, result));
    saving.set(stored, step);
    const done = await unlessLost(
      step,
      stored.finally(() => saving.delete(stored)),
    );
    if (!done)
      throw new Error(`${overFor(step)}: its result is not stored, and the next attempt runs it again`);
    return done;
  };
  const run = async (step: string, fn: () => unknown): Promise<StepResult> => {
    asking.add(step);
    const [done, holds] = await unlessLost(
      step,
      patiently(() => Promise.all([store.step(step), store.holds()])),
    ).finally(() => asking.delete(step));
    if (done) return done;
    if (!holds || isOver) throw new Error(`${overFor(step)}: it does not run`);
    const around = [...(inside.getStore() ?? []), { of: underWay, step }];
    const result = storableOf(step, await inside.run(around, fn));
    if ('json' in result) return save(step, result.json);
    onUnstorable(result.problem);
    throw new TypeError(result.problem);
  };

  return {
    async once<T>(step: string, fn: () => T | Promise<T>): Promise<AsJson<T>> {
      checkName('a step of ctx.once', step);
      if (typeof fn !== 'function')
        throw new TypeError(
          `the step ${JSON.stringify(step)} of ctx.once must be a function, as in () => send(), and this one is ${shown(fn)}`,
        );
      const around = inside.getStore()?.filter((one) => one.of === underWay) ?? [];
      if (around.some((one) => one.step === step))
        throw new TypeError(
          `the step ${JSON.stringify(step)} of ctx.once asks for itself, and would wait for its own end: give the inner one another name`,
        );
      if (isOver || (isClosed && around.length === 0)) throw new Error(`${overFor(step)}: it does not run`);
      // A handler that asks twice at the same moment gets one result.
      const asked = underWay.get(step) ?? run(step, fn).finally(() => underWay.delete(step));
      underWay.set(step, asked);
      const { result } = await asked;
      return (result === null ? undefined : JSON.parse(result)) as AsJson<T>;
    },
    open: () => [...underWay.keys()],
    async ended() {
      while (underWay.size > 0) await Promise.allSettled(underWay.values());
    },
    close() {
      isClosed = true;
    },
    end() {
      isOver = true;
    },
    async saved() {
      while (saving.size > 0) await Promise.allSettled(saving.keys());
    },
    waiting: () => [
      ...[...saving.values()].map((step) => ({ step, hasRun: true })),
      ...[...asking].map((step) => ({ step, hasRun: false })),
    ],
  };
}

/** The result of a step as it is stored, or why it cannot be. */
function storableOf(
  step: string,
  result: unknown,
): { readonly json: string | null } | { readonly problem: string } {
  if (result === undefined) return { json: null };
  const json = jsonTextOf(result);
  if ('text' in json && json.bytes <= MOST_BYTES) return { json: json.text };
  const problem =
    'text' in json
      ? `it takes ${json.bytes} bytes as JSON, and the most is ${MOST_BYTES} (1 MB)`
      : json.problem;
  return {
    problem:
      `step "${step}" of ctx.once has run, and its result cannot be stored: ${problem}. Return a small JSON value or ` +
      'nothing from it, and replay the event: the step then runs again',
  };
}

function overFor(step: string): string {
  return (
    `the attempt that came to step "${step}" of ctx.once has ended (pass ctx.signal to everything that waits, and await ` +
    'ctx.once)'
  );
}
