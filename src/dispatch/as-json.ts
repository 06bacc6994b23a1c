/** A value that JSON holds as it is. */
export type Json =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Json[]
  | { readonly [member: string]: Json };

type Callable = (...given: never[]) => unknown;

/**
 * The type of a value after it was stored as JSON and read again: a Date is a string, and methods and symbols are gone. It
 * is `never` for a value that JSON has no place for, such as a BigInt.
 */
export type AsJson<T> = 0 extends 1 & T
  ? T // any
  : T extends Json | void
    ? T
    : T extends { toJSON(...given: never[]): infer Made }
      ? AsJson<Made>
      : T extends bigint | symbol | Callable
        ? never
        : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? Record<never, never>
          : T extends readonly unknown[]
            ? { [Index in keyof T]: AsJson<T[Index]> }
            : T extends object
              ? {
                  [Member in keyof T as T[Member] extends symbol | Callable
                    ? never
                    : Exclude<Member, symbol>]: AsJson<T[Member]>;
                }
              : unknown;
