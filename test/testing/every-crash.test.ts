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

const outside = (bank: FakeBank) =>
  defineHandlers({
    async media_available(_event, ctx) {
      bank.charge();
      await ctx.once('receipt', () => 'sent');
    },
  });

const inStep = (bank: FakeBank) =>
  defineHandlers({
    async media_available(_event, ctx) {
      await ctx.once('charge', () => bank.charge());
    },
  });

const withKey = (bank: FakeBank) =>
  defineHandlers({
    async media_available(_event, ctx) {
      await ctx.once('charge', () => bank.charge(ctx.id));
    },
  });

test('a charge outside ctx.once is found, with the crash that shows it', async () => {
  const found = everyCrash(oneMedia(outside), chargedOnce);
  await expect(found).rejects.toMatchObject({
    message: expect.stringContaining(
      'a crash before step receipt breaks the check.\n' +
        'To see it alone: everyCrash(scenario, check, { only: "before step receipt" })\n' +
        '2 charges',
    ),
    cause: expect.objectContaining({ code: 'ERR_ASSERTION' }),
  });
  const alone = everyCrash(oneMedia(outside), chargedOnce, { only: 'before step receipt' });
  await expect(alone).rejects.toThrow('2 charges');
});

test('a step that is not idempotent is found, unless its scenario excepts that', async () => {
  await expect(everyCrash(oneMedia(inStep), chargedOnce)).rejects.toThrow('a crash between step charge');
  const points = await everyCrash(oneMedia(inStep), chargedOnce, { except: ['between step'] });
  expect(points).not.toContain('between step charge');
});

test('a handler that gives its key away survives every crash', async () => {
  expect(await everyCrash(oneMedia(withKey), chargedOnce)).toEqual([
    'before record media_available',
    'after record media_available',
    'after claim media_available',
    'before step charge',
    'between step charge',
    'after step charge',
    'before settle media_available',
    'after settle media_available',
  ]);
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
  await expect(atNoon).rejects.toThrow('the scenario has no point "noon"');
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
  const points = await everyCrash(scenario, () => {}, { mayDie: true });
  expect(points).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^before call GET/),
      expect.stringMatching(/^after call GET/),
    ]),
  );
});
