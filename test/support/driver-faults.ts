import type { EventTables } from '../../src/store/driver.ts';

const MESSAGE = 'this call of the driver fails in a test';
/** Of PostgreSQL, for what is the fault neither of the statement nor of the connection: its disk fails. */
const IO_ERROR = '58030';

/** Has a call of a driver fail, before it did anything or after it was done. */
export class DriverFaults {
  #callsLeft = 0;
  #when: Fault['when'] = 'before';
  #hasStruck = false;

  /** Puts itself before all calls of these tables. */
  watch(tables: EventTables): void {
    for (const [name, call] of Object.entries(tables)) {
      const watched = (...input: readonly unknown[]): unknown =>
        this.through(() => Reflect.apply(call, tables, input));
      Reflect.set(tables, name, watched);
    }
  }

  /** Makes a call, unless it is the one that fails before it; it fails after it, if it is the one that fails then. */
  through<T>(call: () => T): T {
    const isMeant = this.#callsLeft > 0 && --this.#callsLeft === 0;
    if (isMeant && this.#when === 'before') this.#strike();
    const output = call();
    if (isMeant) this.#strike();
    return output;
  }

  /** The same of a call of a server, which answers later. */
  async throughServer<T>(
    call: () => Promise<T>,
    { canFailAfter }: { readonly canFailAfter: boolean },
  ): Promise<T> {
    const isMeant = this.#callsLeft > 0 && --this.#callsLeft === 0;
    if (isMeant && (this.#when === 'before' || !canFailAfter)) this.#strike();
    const output = await call();
    if (isMeant) this.#strike();
    return output;
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
    throw Object.assign(new Error(MESSAGE), { code: IO_ERROR });
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
    error.message.includes(MESSAGE) &&
    Reflect.get(error, 'code') === 'STORE_UNAVAILABLE'
  );
}
