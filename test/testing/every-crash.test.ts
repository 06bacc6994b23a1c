import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { defineHandlers, fail, type Handlers } from '../../src/index.ts';
import { everyCrash, type Scenario } from '../../src/testing/index.ts';

/** Charges accounts; with a key it charges once for it, as payment services do. */
class FakeBank {
  readonly #keys = new Set<string>();
  charges = 0;

  charge(key?: string): string {
    if (key === undefined || !this.#keys.has(key)) this.charges++;
    if (key !== undefined) this.#keys.add(key);
    return 'receipt';
  }
}

function oneMedia(charging: (bank: FakeBank) => Handlers): Scenario<FakeBank> {
  return async (start) => {
    const bank = new FakeBank();
    const kit = await start({ handlers: charging(bank) });
    await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
    return bank;
  };
}

const chargedOnce = (_kit: unknown, bank: FakeBank) =>
  assert.equal(bank.charges, 1, `${bank.charges} charges`);

const withKey = (bank: FakeBank) =>
  defineHandlers({
    async media_available(_event, ctx) {
      await ctx.once('charge', () => bank.charge(ctx.id));
    },
  });

const inStep = (bank: FakeBank) =>
  defineHandlers({
    async media_available(_event, ctx) {
      await ctx.once('charge', () => bank.charge());
    },
  });

test('one point is played alone by its name, and places at which a crash may do harm are left out', async () => {
  const only = 'between step charge';
  await expect(everyCrash(oneMedia(inStep), chargedOnce, { only })).rejects.toThrow('2 charges');
  await everyCrash(oneMedia(inStep), chargedOnce, { except: ['between step'] });
});

test('a test may return it, and a handler that gives its key away survives every crash', () => {
  const returned: Promise<void> = everyCrash(oneMedia(withKey), chargedOnce);
  return expect(returned).resolves.toBeUndefined();
});

test('what is wrong with a scenario is said', async () => {
  const fails = () => {
    throw new Error('no');
  };
  await expect(everyCrash(oneMedia(withKey), fails)).rejects.toThrow(
    'without any crash, the check fails: no',
  );
  const idle: Scenario<unknown> = (start) => start({ handlers: {} });
  await expect(everyCrash(idle, () => {})).rejects.toThrow('brings about no event: deliver something');
  const atNoon = everyCrash(oneMedia(withKey), chargedOnce, { only: 'noon' });
  await expect(atNoon).rejects.toThrow(
    'the scenario has no point "noon": it has before record media_available, after record media_available, ' +
      'after claim media_available, before step charge, between step charge, after step charge, ' +
      'before settle media_available, after settle media_available',
  );
});

test('a call of ctx.statuses is a point of its own, and an event that dies breaks the check, unless it may', async () => {
  const scenario: Scenario<unknown> = async (start) => {
    const kit = await start({
      handlers: {
        media_created: async (_event, ctx) => {
          await ctx.statuses?.page();
          return fail('never');
        },
      },
    });
    await kit.deliver('media_created');
  };
  await expect(everyCrash(scenario, () => {})).rejects.toThrow('{ mayDie: true } lets them');
  await expect(everyCrash(scenario, () => {}, { mayDie: true, only: 'noon' })).rejects.toThrow(
    /, before call GET \S+, after call GET /,
  );
});
