import { expect, test } from '@jest/globals';
import type { AsJson } from '../../src/dispatch/handler.ts';

/** Whether two types are the same, not only assignable to each other. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

interface Post {
  readonly id: string;
  at: Date;
  tags?: readonly string[];
  url(): string;
}
type Tree = { readonly name: string; readonly children: readonly Tree[] };

/** The compiler refuses this list if one of them is false. */
const same: readonly [
  Same<AsJson<void>, void>,
  Same<AsJson<Date>, string>,
  Same<AsJson<Date | undefined>, string | undefined>,
  Same<AsJson<bigint>, never>,
  Same<AsJson<unknown>, unknown>,
  Same<AsJson<readonly Date[]>, readonly string[]>,
  Same<AsJson<[Date, number]>, [string, number]>,
  Same<AsJson<Map<string, number>>, Record<never, never>>,
  Same<AsJson<Post>, { readonly id: string; at: string; tags?: readonly string[] }>,
  Same<AsJson<Tree>, Tree>,
] = [true, true, true, true, true, true, true, true, true, true];

test('AsJson is the type that comes back, when a value is stored as JSON and read again', () => {
  expect(same).not.toContain(false);
});
