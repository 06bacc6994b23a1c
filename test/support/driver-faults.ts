import type { EventTables } from '../../src/store/driver.ts';

const MESSAGE = 'this call of the driver fails in a test';

/** Has a call of a driver fail, before it did anything or after it was done. */
export class DriverFaults {
  #callsLeft = 0;
  #when: Fault['when'] = 'before';
  #hasStruck = false;

  /** Puts itself before all calls of these tables. */
  watch(tables: EventTables): void {
    for (const [name, call] of Object.entries(tables)) {
      const watched = (...input: readonly unknown[]): unknown => {
        const isMeant = this.#callsLeft > 0 && --this.#callsLeft === 0;
        if (isMeant && this.#when === 'before') this.#strike();
        const output: unknown = Reflect.apply(call, tables, input);
        if (isMeant) this.#strike();
        return output;
      };
      Reflect.set(tables, name, watched);
    }
  }

  arm({ call, when }: Fault): void {
    this.#callsLeft = call;
    this.#when = when;
    this.#hasStruck = false;
  }

  /** From now on nothing fails. @returns whether something did */
  disarm(): boolean {
    this.#callsLeft = 0;
    return this.#hasStruck;
  }

  #strike(): never {
    this.#hasStruck = true;
    throw new Error(MESSAGE);
  }
}

export interface Fault {
  /** counted from 1, over all transactions */
  readonly call: number;
  readonly when: 'before' | 'after';
}

/** Whether this is the error that a command answers with when the driver failed. */
export function isOfFault(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.message.endsWith(MESSAGE) &&
    Reflect.get(error, 'code') === 'STORE_UNAVAILABLE'
  );
}
