import { shown } from '../base/thrown.ts';
import type { StateChange, StateValue } from '../store/event-store.ts';
import { type AsJson, checkName, type DeepReadonly, exactJsonTextOf } from './stored-json.ts';

const MOST_BYTES = 64 * 1024;

/**
 * `ctx.state`: small JSON values by name, which the events of one media or channel leave for each other. The changes of
 * a handler are stored with its result, which is nothing, `skip`, `fail` or `retry`. If it throws or takes too long, or its process
 * crashes or loses the lease, none of its changes is stored.
 */
export interface ResourceState {
  /**
   * The value under a name, as the events before left it and this run changed it; undefined if there is none. It is a copy: to
   * change it, set another one.
   * @typeParam T the type that was set: it is not checked
   * @throws TypeError if the name is not a string of 1 to 200 characters
   */
  get<T = unknown>(name: string): DeepReadonly<AsJson<T>> | undefined;
  /**
   * Sets the value under a name to a copy of `value`.
   * @param value anything that JSON gives back as it is, or that has a toJSON: a Date becomes a string
   * @throws TypeError if the name is not a string of 1 to 200 characters, or something in the value is not JSON, such as NaN or
   *   a Map; RangeError if names and values would take over 64 KB (65,536 bytes) together; Error if the handler has ended
   */
  set(name: string, value: string | number | boolean | object | null): void;
  /**
   * Deletes the value under a name, if there is one.
   * @throws TypeError if the name is not a string of 1 to 200 characters; Error if the handler has ended
   */
  delete(name: string): void;
}

/** The state of a resource during one run of a handler. @param before the state as the events before left it */
export function runStateOf(resource: string, before: readonly StateValue[]) {
  const stored = new Map(before.map(({ name, value }) => [name, value]));
  const values = new Map(stored);
  let isOver = false;

  const check = (name: string, mode: 'read' | 'write'): void => {
    checkName('a value of ctx.state', name);
    if (isOver && mode === 'write')
      throw new Error(`the handler has ended, and "${name}" is not stored: await what sets ctx.state`);
  };
  const state: ResourceState = {
    get(name) {
      check(name, 'read');
      const json = values.get(name);
      return json === undefined ? undefined : JSON.parse(json);
    },
    set(name, value) {
      let json: string;
      check(name, 'write');
      try {
        json = exactJsonTextOf(value);
      } catch (cause) {
        const why = `the value "${name}" of ctx.state cannot be stored`;
        throw new TypeError(`${why}: ${shown(cause)}`, { cause });
      }
      const bytes = Buffer.byteLength([...new Map(values).set(name, json)].flat().join(''));
      if (bytes > MOST_BYTES)
        throw new RangeError(
          `the state of ${resource} would take ${bytes} bytes, and the most is ${MOST_BYTES} (64 KB), names included: delete ` +
            'names that are no longer needed, or store less',
        );
      values.set(name, json);
    },
    delete(name) {
      check(name, 'write');
      values.delete(name);
    },
  };
  return {
    state,
    /** Ends the run: the handler can change nothing any more. @returns the changes that it made */
    end(): readonly StateChange[] {
      isOver = true;
      return [...new Set([...stored.keys(), ...values.keys()])]
        .filter((name) => values.get(name) !== stored.get(name))
        .map((name) => ({ name, value: values.get(name) ?? null }));
    },
  };
}
