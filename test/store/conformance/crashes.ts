import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventId } from '../../../src/store/event-id.ts';
import type { Claim, EventStore } from '../../../src/store/event-store.ts';
import {
  claimOne,
  claims,
  HANDLED,
  LEASE_MS,
  RELEASED,
  request,
  settleAll,
  waiting,
} from '../../support/claiming.ts';
import type { CrashStage, CrashStageFactory } from '../../support/crash-stage.ts';
import { type Fault, isOfFault } from '../../support/driver-faults.ts';
import { present } from '../../support/only.ts';
import { some } from '../../support/sizes.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

/** A store on which a bit of everything waits to be done. */
interface Scene {
  readonly store: EventStore;
  readonly clock: CrashStage['clock'];
  /** runs */
  readonly running: Claim;
  readonly newKey: Buffer | undefined;
}

const media = (number: number) => verified({ media_id: `media-${number}`, at: EVENT_TIME + number * 1000 });
const channel = (event: string, second: number) =>
  verified({ media_id: undefined, channel_id: 'one', event, at: EVENT_TIME + second * 1000 });
const STATE = [{ name: 'posted', value: '1' }];
const ENTRY = { ...media(7), token: 'token'.padEnd(1000), source: '192.0.2.1' };
const OTHER = { ...media(8), token: 'other', source: '198.51.100.1' };

/** What a driver keeps the ledger in: an index has the identities, or a map; PostgreSQL keeps bodies apart, by months. */
const LEDGER = [['ledger'], ['identities', 'ledger'], ['bodies', 'ledger']];

/** By then, what was recorded is taken into work. */
const TAKEN_AFTER_MS = 250;

async function prepare({ open, clock, newKey }: CrashStage): Promise<Scene> {
  const store = await open();
  const settle = async (end: Parameters<EventStore['settle']>[2]) =>
    store.settle(await claimOne(store), 'one', end);
  await store.record(media(1));
  await store.saveStep(await claimOne(store), 'one', { name: 'announce', result: '1' });
  await clock.advance(LEASE_MS);
  await settleAll(store, { ...HANDLED, state: STATE });
  await store.record(channel('channel_idle', 1));
  await settle({ ...HANDLED, state: STATE });
  await store.record(media(2));
  await settle(waiting(2 * LEASE_MS));
  for (const number of [3, 4]) await store.record(media(number));
  await claims(store, { owner: 'gone' });
  await clock.advance(LEASE_MS);
  await store.record(media(5));
  const [running] = await claims(store, { spareLost: true });
  await clock.advance(LEASE_MS); // those of the lost owner have run out, and what waited is due
  await store.renew('one', LEASE_MS);
  await store.quarantine(ENTRY, 100_000);
  await store.quarantine(ENTRY, 100_000);
  await store.addSecret('webhook-1', 'live');
  await clock.advance(1);
  await store.addSecret('webhook-1', 'retired');
  await store.retireSecret('webhook-1', 'retired', clock.now());
  // Not taken yet.
  await store.record(channel('channel_active', 2));
  await store.record(verified({ media_id: 'media-1', at: EVENT_TIME }));
  return { store, clock, running: present(running), newKey };
}

const commands: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'record of a new event': ({ store }) => store.record(media(6)),
  'record of a repeat': ({ store }) => store.record(media(1)),
  claim: ({ store }) => store.claim(request({ newest: 2 })),
  renew: ({ store }) => store.renew('one', 2 * LEASE_MS),
  'settle as handled, with state': ({ store, running }) =>
    store.settle(running, 'one', { ...HANDLED, state: [...STATE, { name: 'other', value: '2' }] }),
  'settle for a later attempt': ({ store, running }) => store.settle(running, 'one', waiting(1)),
  'settle as released': ({ store, running }) => store.settle(running, 'one', RELEASED),
  'settle as not started': ({ store, running }) =>
    store.settle(running, 'one', { ...RELEASED, isUncounted: undefined, isUnstarted: true }),
  saveStep: ({ store, running }) => store.saveStep(running, 'one', { name: 'announce', result: '2' }),
  replaceState: ({ store }) => store.replaceState('media:media-1', [{ name: 'other', value: '3' }]),
  deleteState: ({ store }) => store.deleteState('media:media-1'),
  prune: ({ store, clock }) => store.prune(clock.now(), 10),
  'quarantine of a new entry': ({ store }) => store.quarantine(OTHER, 100_000),
  'quarantine of a repeat': ({ store }) => store.quarantine(ENTRY, 100_000),
  'quarantine of an entry that another gives way to': ({ store }) => store.quarantine(OTHER, 2500),
  'quarantine of an entry that has no room': ({ store }) => store.quarantine(OTHER, 10),
  countLost: ({ store }) => store.countLost(3),
  admit: ({ store }) => store.admit(ENTRY.token),
  'addSecret of a new secret': ({ store }) => store.addSecret('webhook-2', 'new'),
  'addSecret of a retired secret': ({ store }) => store.addSecret('webhook-1', 'retired'),
  retireSecret: ({ store, clock }) => store.retireSecret('webhook-1', 'live', clock.now() + 1000),
  rekey: ({ store, newKey }) => store.rekey(newKey),
};

/** Every row that is committed, with secrets as they open: two databases have two keys. */
async function opened(stage: CrashStage, { store }: Scene): Promise<unknown> {
  return { ...(await stage.contents()), meta: [], secrets: await store.secrets() };
}

/** Calls a command with a fault at each call of the driver in turn, until it comes through without one. */
async function withEachFault(
  { faults }: CrashStage,
  command: () => Promise<unknown>,
  look: (result: PromiseSettledResult<unknown>) => Promise<void> | void,
): Promise<unknown> {
  const whens = ['before', 'after'] as const satisfies readonly Fault['when'][];
  for (let call = 1; ; call++) {
    for (const when of whens) {
      faults.arm({ call, when });
      const [result] = await Promise.allSettled([command()]);
      if (!faults.disarm()) {
        expect(call).toBeGreaterThan(1);
        expect(result.status).toBe('fulfilled');
        return result.status === 'fulfilled' ? result.value : undefined;
      }
      await look(result);
    }
  }
}

/**
 * What an instance and the database under it make of commits that fail and processes that end.
 * @param few of how many commands npm test has calls fail
 */
export function describeCrashes(name: string, factory: CrashStageFactory, few = 10): void {
  describe(`${name}, where a call of the driver fails`, () => {
    let stages: readonly [CrashStage, CrashStage];
    beforeEach(async () => {
      stages = [await factory(), await factory()];
    });
    afterEach(() => Promise.all(stages.map((stage) => stage.cleanUp())));

    test.each(some(few, Object.entries(commands)))(
      'changes nothing, whichever call of %s it is, and does all when the command comes again',
      async (name, command) => {
        const [stage, other] = stages;
        const [scene, undisturbed] = [await prepare(stage), await prepare(other)];
        if (name === 'claim' && stage.takesApart)
          for (const one of stages) await one.clock.advance(TAKEN_AFTER_MS);
        const before = await stage.contents();
        const run = () => command(scene);
        const answer = await withEachFault(stage, run, async (result) => {
          expect(result).toMatchObject({ status: 'rejected' });
          expect(result.status === 'rejected' && isOfFault(result.reason)).toBe(true);
          expect(await stage.contents()).toEqual(before);
        });
        expect(answer).toEqual(await command(undisturbed));
        expect(await opened(stage, scene)).toEqual(await opened(other, undisturbed));
        expect(await stage.contents()).not.toEqual(before);
      },
    );

    test('does each of several commands of one moment wholly or not at all, whichever call it is', async () => {
      const [stage] = stages;
      const { store } = await prepare(stage);
      let number = 100;
      const record = async () => {
        const both = [media(number++), media(number++)];
        const results = await Promise.allSettled(both.map((one) => store.record(one)));
        for (const [index, { eventTime, digest }] of both.entries()) {
          const result = present(results[index]);
          expect(result.status === 'fulfilled' || isOfFault(result.reason)).toBe(true);
          const { deliveries = 0 } = (await store.event(eventId(eventTime, digest))) ?? {};
          expect(deliveries).toBe(result.status === 'fulfilled' ? 1 : 0);
        }
      };
      await withEachFault(stage, record, ({ status }) => expect(status).toBe('fulfilled'));
    });

    test('knows a first secret when it comes again, whichever call of a new instance it is', async () => {
      const [stage] = stages;
      const store = await stage.open();
      await withEachFault(
        stage,
        () => store.addSecret('webhook-1', 'first'),
        async (result) => {
          expect(result.status === 'rejected' && isOfFault(result.reason)).toBe(true);
          expect(await store.secrets()).toEqual([]);
        },
      );
      expect(await store.secrets()).toMatchObject([{ webhookId: 'webhook-1', secret: 'first' }]);
    });

    test('leaves what is new in the ledger, whichever call takes it in, and takes it in later', async () => {
      const [stage] = stages;
      const { store, clock } = await prepare(stage);
      const active = async () => (await store.channels({ limit: 10 })).counts.active;
      const before = await stage.contents();
      await withEachFault(
        stage,
        () => clock.advance(TAKEN_AFTER_MS),
        async () => {
          expect(await stage.contents()).toEqual(before);
          expect(await active()).toBe(0);
        },
      );
      expect(await active()).toBe(1);
    });

    test('leaves the events of a replay as they were or all held, whichever call it is, and replays them once when it comes again', async () => {
      const [stage] = stages;
      const store = await stage.open();
      for (const number of [1, 2, 3]) await store.record(media(number));
      await settleAll(store, HANDLED);
      await store.record(media(4));
      await store.settle(await claimOne(store), 'one', waiting(600_000));
      const all = () => store.events({}, { limit: 10 });
      const seen = new Set<boolean>();
      const replay = () => store.replay({}, { resetSteps: true });
      await withEachFault(stage, replay, async (result) => {
        expect(result.status === 'rejected' && isOfFault(result.reason)).toBe(true);
        expect(await claims(store)).toEqual([]);
        const before = await all();
        const held = before.filter(({ lastError }) => lastError?.startsWith('waits until replay '));
        expect([0, before.length]).toContain(held.length);
        seen.add(held.length > 0);
        expect(await replay()).toBe(before.length);
        const replays = before.map((event) => event.replays + (held.length > 0 ? 0 : 1));
        expect((await all()).map((event) => event.replays)).toEqual(replays);
        expect(await settleAll(store, HANDLED)).toBe(before.length);
      });
      expect(seen.size).toBe(2);
    });
  });

  describe(`${name}, where notifications are recorded`, () => {
    let stage: CrashStage;
    beforeEach(async () => {
      stage = await factory();
    });
    afterEach(() => stage.cleanUp());

    test('writes the ledger and nothing else, when an event is new, and its deliveries and nothing else, when it comes again', async () => {
      const { store } = await prepare(stage);
      /** The tables that a recording of media 100 changes. */
      const changed = async () => {
        const before = await stage.contents();
        await store.record(media(100));
        return Object.entries(await stage.contents())
          .filter(([table, rows]) => !isDeepStrictEqual(rows, before[table]))
          .map(([table]) => table)
          .sort();
      };
      expect(LEDGER).toContainEqual(await changed());
      expect(await changed()).toEqual(['repeats']);
    });
  });

  describe(`${name}, where all processes crash`, () => {
    let stage: CrashStage;
    beforeEach(async () => {
      stage = await factory();
    });
    afterEach(() => stage.cleanUp());

    test('loses nothing and does nothing twice, when events were recorded and not taken into work', async () => {
      const first = await stage.open();
      const recorded = await Promise.all([1, 2, 3, 1].map((number) => first.record(media(number))));
      expect(recorded.map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted', 'duplicate']);
      expect((await stage.contents()).work).toEqual([]);
      await stage.crash();
      const [store, other] = [await stage.open(), await stage.open()];
      expect((await stage.contents()).work).toEqual([]);
      expect((await store.record(media(2))).status).toBe('duplicate');
      const taken = await Promise.all([claims(store), claims(other, { owner: 'two' })]);
      expect(taken.flat().map(({ id }) => id)).toEqual(recorded.slice(0, 3).map(({ id }) => id));
      for (const claim of taken.flat()) {
        const owner = taken[0].includes(claim) ? 'one' : 'two';
        expect(await store.settle(claim, owner, HANDLED)).toBe(true);
      }
      await stage.crash();
      const last = await stage.open();
      expect(await claims(last)).toEqual([]);
      const events = await last.events({}, { limit: 10 });
      expect(events.map(({ status, deliveries, starts }) => [status, deliveries, starts])).toEqual([
        ['handled', 1, 1],
        ['handled', 2, 1],
        ['handled', 2, 1],
      ]);
    });
  });
}
