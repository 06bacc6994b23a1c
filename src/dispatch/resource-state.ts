import type { Clock } from '../base/clock.ts';
import { shown } from '../base/thrown.ts';
import type { Claim, ReminderChange, Settlement } from '../store/event-store.ts';
import { type AsJson, checkName, type DeepReadonly, exactJsonTextOf } from './stored-json.ts';

const MOST_BYTES = 64 * 1024;
const MOST_REMINDERS = 20;
const MOST_DATA_BYTES = 8 * 1024;
const YEAR_MS = 366 * 86_400_000;

const VALUE = 'a value of ctx.state';
const REMINDER = 'a reminder';
const LESS = 'delete names that are no longer needed, or store less';
const A_TIME = 'a time of at most a year ahead, either `at`, a Date, or `after`, in milliseconds';

/** When a reminder is due. */
export type ReminderTime =
  | { readonly after: number; readonly at?: undefined }
  | { readonly at: Date | number; readonly after?: undefined };

/** A value that can be stored as JSON. */
export type ResourceValue = string | number | boolean | object | null;

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
  set(name: string, value: ResourceValue): void;
  /**
   * Deletes the value under a name, if there is one.
   * @throws TypeError if the name is not a string of 1 to 200 characters; Error if the handler has ended
   */
  delete(name: string): void;
}

/**
 * What a run of a handler leaves for later events of its resource: state, and reminders.
 * @param before what the events before left
 */
export function runStateOf(before: Pick<Claim, 'resource' | 'state' | 'reminders'>, clock: Clock) {
  const { resource } = before;
  const stored = new Map(before.state.map(({ name, value }) => [name, value]));
  const values = new Map(stored);
  const names = new Set(before.reminders);
  const reminders = new Map<string, ReminderChange>();
  let isOver = false;

  const check = (what: string, name: string): void => {
    checkName(what, name);
    if (isOver)
      throw new Error(`the handler has ended, and "${name}" is not stored: await what sets ${what}`);
  };
  const state: ResourceState = {
    get(name) {
      checkName(VALUE, name);
      const json = values.get(name);
      return json === undefined ? undefined : JSON.parse(json);
    },
    set(name, value) {
      check(VALUE, name);
      const json = exactJsonTextOf(`the value "${name}" of ctx.state`, value, Infinity);
      const bytes = Buffer.byteLength([...new Map(values).set(name, json)].flat().join(''));
      const told = `the state of ${resource} would take ${bytes} bytes, and the most is ${MOST_BYTES} (64 KB), names included: ${LESS}`;
      if (bytes > MOST_BYTES) throw new RangeError(told);
      values.set(name, json);
    },
    delete(name) {
      check(VALUE, name);
      values.delete(name);
    },
  };
  return {
    state,
    remind(name: string, { after, at, data = null }: ReminderTime & { readonly data?: unknown }): void {
      check(REMINDER, name);
      const ahead = after ?? Number(at ?? Number.NaN) - clock.now();
      if ((after === undefined) === (at === undefined) || !(ahead <= YEAR_MS) || (after ?? 0) < 0)
        throw new TypeError(`the reminder "${name}" needs ${A_TIME}, not ${shown({ after, at })}`);
      const json = exactJsonTextOf(`the data of the reminder "${name}"`, data, MOST_DATA_BYTES);
      const full = `${resource} has ${MOST_REMINDERS} reminders, the most that it may have: forget one before "${name}" is set`;
      if (names.size >= MOST_REMINDERS && !names.has(name)) throw new RangeError(full);
      names.add(name);
      const time = after === undefined ? { at: Math.floor(Number(at)) } : { afterMs: Math.ceil(after) };
      reminders.set(name, { name, ...time, data: json });
    },
    forget(name: string): void {
      check(REMINDER, name);
      names.delete(name);
      reminders.set(name, { name });
    },
    /** Ends the run: the handler can change nothing any more. @returns the changes that it made */
    end(): Pick<Settlement, 'state' | 'reminders'> {
      isOver = true;
      const changed = [...new Set([...stored.keys(), ...values.keys()])]
        .filter((name) => values.get(name) !== stored.get(name))
        .map((name) => ({ name, value: values.get(name) ?? null }));
      return { state: changed, reminders: [...reminders.values()] };
    },
  };
}
