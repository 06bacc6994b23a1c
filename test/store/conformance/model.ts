import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { CrashStageFactory } from '../../support/crash-stage.ts';
import { runs } from '../../support/sizes.ts';
import type { StoreFactory } from '../../support/store-fixture.ts';
import { EVENT_TIME } from '../../support/verified-notification.ts';
import { ModelRun, type Operation } from './model-run.ts';

const owner = fc.constantFrom(0 as const, 1 as const);
const status = fc.constantFrom('handled' as const, 'skipped' as const, 'dead' as const, undefined);

const name = fc.constantFrom('a', 'b');
const stateChange = fc.record({ name, value: fc.constantFrom('1', '"two"', null) });
const state = fc.uniqueArray(stateChange, { maxLength: 2, selector: ({ name }) => name });
const media = fc.nat(2);
const webhook = fc.nat(1);
const secret = fc.nat(1);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('record'),
      owner,
      media,
      at: fc.nat(9).map((seconds) => EVENT_TIME + seconds * 1000),
    }),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({
        do: fc.constant('claim'),
        owner,
        limit: fc.integer({ min: 1, max: 4 }),
        newest: fc.nat(4),
        replayed: fc.nat(4),
      })
      .map(({ newest, replayed, ...claim }) => ({
        ...claim,
        newest: Math.min(newest, claim.limit),
        replayed: Math.min(replayed, claim.limit),
      })),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('settle'),
      which: fc.nat(),
      status: fc.constantFrom('handled', 'skipped', 'dead', 'pending'),
      after: fc.constantFrom(undefined, 0, 700, 5000),
      state,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('save'),
      back: fc.nat(3),
      step: fc.record({ name, result: fc.constantFrom('1', '2') }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace state'), owner, media, state }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete state'), owner, media }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew'), owner }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release'), owner }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('advance'), ms: fc.constantFrom(1, 699, 1000, 10_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('replay'), status, resetSteps: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prune'), limit: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('add secret'), owner, webhook, secret }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('retire secret'),
      owner,
      webhook,
      secret,
      after: fc.constantFrom(0, 1000),
    }),
  },
) as fc.Arbitrary<Operation>;

const broken: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: operation },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('fail' as const),
      fault: fc.record({ call: fc.integer({ min: 1, max: 20 }), when: fc.constantFrom('before', 'after') }),
      operation,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'crash' as const }) },
);

/** The same where calls of the driver fail and processes crash in between. */
export function describeModelWithCrashes(factory: CrashStageFactory): void {
  test('stays true to a simple model, when commits fail at any call and processes crash, at every step', async () => {
    const property = fc.asyncProperty(
      fc.array(broken, { minLength: 1, maxLength: 60, size: 'max' }),
      async (operations) => {
        const stage = await factory();
        try {
          const run = new ModelRun([await stage.open(), await stage.open()], stage.clock, stage);
          for (const one of operations) {
            await run.step(one);
            await run.compare();
          }
          expect(await run.drain()).toEqual([]);
        } finally {
          await stage.cleanUp();
        }
      },
    );
    await fc.assert(property, { numRuns: runs(50), interruptAfterTimeLimit: 90_000 });
  }, 120_000);
}

/** Any sequence of calls on two instances of one database leaves it as a simple model says, step by step. */
export function describeModel(factory: StoreFactory): void {
  test('stays true to a simple model, when two instances do anything in any order, at every step', async () => {
    const property = fc.asyncProperty(
      fc.array(operation, { minLength: 1, maxLength: 80, size: 'max' }),
      async (operations) => {
        const clock = new VirtualClock();
        const fixture = await factory(clock);
        try {
          const run = new ModelRun([fixture.store, await fixture.open()], clock);
          for (const one of operations) {
            await run.step(one);
            await run.compare();
          }
          expect(await run.drain()).toEqual([]);
        } finally {
          await fixture.cleanUp();
        }
      },
    );
    await fc.assert(property, { numRuns: runs(25), interruptAfterTimeLimit: 90_000 });
  }, 120_000);
}
