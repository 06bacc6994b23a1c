import type { StateChange, StateValue } from '../store/event-store.ts';
import { type AsJson, checkName, jsonTextOf } from './stored-json.ts';

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
   */
  get<T = unknown>(name: string): AsJson<T> | undefined;
  /**
   * Sets the value under a name to a copy of `value`.
   * @param value stored as JSON.stringify writes it: a Date becomes a string, NaN null, and a Map `{}`
   * @throws TypeError if the name is not a string of 1 to 200 characters, or the value has no JSON, such as a function; RangeError if names and values would take over 64 KB (65,536 bytes) together; Error if the handler has ended
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

  const checkChange = (name: string): void => {
    checkName('a value of ctx.state', name);
    if (isOver)
      throw new Error(`the handler has ended, and "${name}" is not stored: await what sets ctx.state`);
  };
  const state: ResourceState = {
    get(name) {
      const json = values.get(name);
      return json === undefined ? undefined : JSON.parse(json);
    },
    set(name, value) {
      checkChange(name);
      const json = jsonTextOf(value);
      const bytes = Buffer.byteLength([...new Map(values).set(name, json)].flat().join(''));
      if (bytes > MOST_BYTES)
        throw new RangeError(
          `the state of ${resource} would take ${bytes} bytes, and the most is ${MOST_BYTES} (64 KB), names included: delete ` +
            'names that are no longer needed, or store less',
        );
      values.set(name, json);
    },
    delete(name) {
      checkChange(name);
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
