import { shown } from '../base/thrown.ts';
import type { EventId } from '../store/event-id.ts';
import type { EventStore } from '../store/event-store.ts';

/** `ctx.once` of one event: steps that are done are remembered in the store. */
export function onceOf(store: Pick<EventStore, 'step' | 'saveStep'>, id: EventId) {
  const underWay = new Map<string, Promise<unknown>>();
  const run = async <T>(step: string, fn: () => T | Promise<T>): Promise<T> => {
    const done = await store.step(id, step);
    if (done) return (done.result === null ? undefined : JSON.parse(done.result)) as T;
    const result = await fn();
    await store.saveStep(id, step, serialise(step, result));
    return result;
  };
  return async <T>(step: string, fn: () => T | Promise<T>): Promise<T> => {
    if (typeof step !== 'string')
      throw new TypeError(`the name of a step of ctx.once must be a string, and this one is ${shown(step)}`);
    // A handler that asks twice at the same moment gets one answer.
    const asked = underWay.get(step) ?? run(step, fn).finally(() => underWay.delete(step));
    underWay.set(step, asked);
    return asked as Promise<T>;
  };
}

function serialise(step: string, result: unknown): string | null {
  if (result === undefined) return null;
  const json = jsonOf(step, result);
  if (json === undefined) throw noJson(step);
  return json;
}

/** The result of JSON.stringify: undefined for functions and symbols; it throws for a BigInt or a circle. */
function jsonOf(step: string, result: unknown): string | undefined {
  try {
    return JSON.stringify(result);
  } catch (cause) {
    throw noJson(step, { cause });
  }
}

function noJson(step: string, options?: ErrorOptions): TypeError {
  return new TypeError(`the result of step "${step}" is not JSON: return data, or nothing`, options);
}
