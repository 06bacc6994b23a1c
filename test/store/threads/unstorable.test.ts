import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { KitError } from '../../../src/base/errors.ts';
import type { StoreLink } from '../../../src/store/link.ts';
import { openConnection } from '../../../src/store/sqlite/connection.ts';
import type { Writes } from '../../../src/store/sqlite/writes.ts';
import { LocalLink } from '../../../src/store/threads/local-link.ts';
import { ThreadLink } from '../../../src/store/threads/thread-link.ts';
import { nested, ODD_OUTPUTS, OddConnection, type OddOperations } from '../../support/odd-connection.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const STORE_THREAD = new URL('../../../src/store/sqlite/store-thread.ts', import.meta.url);
const ODD_THREAD = new URL('../../support/odd-store-thread.ts', import.meta.url);

const circle: Record<string, unknown> = {};
circle.self = circle;

/** What no thread takes. */
const UNSTORABLE = {
  'a function': () => () => {},
  'a symbol': () => Symbol('odd'),
  'a function deep within': () => ({ a: [new Map([['b', { c: () => {} }]])] }),
  'a getter that throws an error': () => ({
    get member() {
      throw new TypeError('not now');
    },
  }),
  'a getter that throws nothing': () => ({
    get member() {
      throw undefined;
    },
  }),
  'a getter that throws what cannot be shown': () => ({
    get member() {
      throw Object.create(null, { toString: { get: () => nested(1) } });
    },
  }),
  'a proxy': () => new Proxy({}, {}),
  'a promise': () => Promise.resolve(),
  'a weak map': () => new WeakMap(),
  'what is nested too deeply': () => nested(100_000),
} as const;

/** What a thread takes, although SQLite may not. */
const STORABLE = {
  'a circle': () => circle,
  'a long text': () => 'x'.repeat(32 * 1024 * 1024),
  'a long array': () => Array.from({ length: 1_000_000 }, () => 0),
  'a sparse array': () => new Array(4_000_000_000),
  'a bigint': () => 2n ** 4000n,
  'a date that is none': () => new Date(Number.NaN),
  'an error': () => new Error('stored'),
  'lone surrogates': () => '\ud800',
  'an object without prototype': () => Object.create(null),
} as const;

const kinds = {
  'a thread': {
    real: (path: string) =>
      ThreadLink.over<Writes>(new Worker(STORE_THREAD, { workerData: { path, mode: 'write' } })),
    odd: () => ThreadLink.over<OddOperations>(new Worker(ODD_THREAD)),
  },
  'no thread': {
    real: async (path: string) => new LocalLink<Writes>(await openConnection(path, 'write')),
    odd: async () => new LocalLink<OddOperations>(new OddConnection()),
  },
} as const;

describe.each(Object.entries(kinds))('a link with %s', (_kind, open) => {
  let directory: string;
  let link: StoreLink<Writes>;
  let odd: StoreLink<OddOperations>;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    link = await open.real(join(directory, 'receiver.db'));
    odd = await open.odd();
  });

  afterAll(async () => {
    await link.close();
    await odd.close();
    rmSync(directory, { recursive: true });
  });

  /** The results of a request and of one on either side of it, made in the same moment. */
  async function amongOthers(input: unknown) {
    const [before, result, after] = await Promise.allSettled([
      link.request('ping', undefined),
      link.request('deleteState', input as string),
      link.request('ping', undefined),
    ]);
    expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
    return result;
  }

  test.each(Object.entries(UNSTORABLE))(
    'rejects a request alone, when its input is or has %s, and says so',
    async (_what, make) => {
      // The only one of its kind in a batch, and several in one.
      for (const results of [[amongOthers(make())], [amongOthers(make()), amongOthers(make())]]) {
        const rejected = {
          name: 'KitError',
          code: 'VALUE_UNSTORABLE',
          message: expect.stringMatching(/^deleteState got .* plain data/),
        };
        expect(await Promise.all(results)).toMatchObject(results.map(() => ({ reason: rejected })));
      }
      await expect(odd.request('echo', make())).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
      await expect(odd.request('echo', 'still there')).resolves.toBe('still there');
    },
  );

  test.each(Object.entries(STORABLE))('goes on with all, when an input is %s', async (_what, make) => {
    const result = await amongOthers(make());
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(KitError);
  });

  test.each(Object.keys(ODD_OUTPUTS) as (keyof typeof ODD_OUTPUTS)[])(
    'rejects a request alone, when its output is or has %s, and says so',
    async (what) => {
      const together = await Promise.allSettled([
        odd.request('echo', 1),
        odd.request('odd', what),
        odd.request('echo', 2),
        odd.request('odd', what),
        odd.request('echo', 3),
      ]);
      const rejected = {
        status: 'rejected',
        reason: {
          code: 'VALUE_UNSTORABLE',
          message: expect.stringMatching(/^the store cannot give back/),
        },
      };
      expect(together).toMatchObject([{ value: 1 }, rejected, { value: 2 }, rejected, { value: 3 }]);
      await expect(odd.request('odd', what)).rejects.toMatchObject({ code: 'VALUE_UNSTORABLE' });
      await expect(odd.request('echo', 'still there')).resolves.toBe('still there');
    },
  );

  test('settles every request, and does those that can be done, when any values come together', async () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true });
    const hostile = fc.constantFrom(...Object.values(UNSTORABLE)).map((make) => ({ hostile: make() }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(anything, hostile), { minLength: 1, maxLength: 8 }),
        async (inputs) => {
          const results = await Promise.allSettled(
            inputs.flatMap((input, index) => [odd.request('echo', input), odd.request('echo', index)]),
          );
          for (const [index, input] of inputs.entries()) {
            expect(results[2 * index + 1]).toEqual({ status: 'fulfilled', value: index });
            if (isPlain(input)) expect(results[2 * index]).toEqual({ status: 'fulfilled', value: input });
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

function isPlain(input: unknown): boolean {
  return ['string', 'number', 'boolean', 'bigint', 'undefined'].includes(typeof input);
}
