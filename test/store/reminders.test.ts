import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type {
  Claim,
  EventFilter,
  EventStore,
  ReminderChange,
  Settlement,
} from '../../src/store/event-store.ts';
import { toReplay } from '../../src/store/queue/lists/search.ts';
import { present } from '../support/only.ts';
import { claimedOne, FAILED, given, HANDLED, MOST, notified, polled, recorded, SEARCH } from './desk.ts';
import { onEachEngine, onPostgres, type Stage } from './stages.ts';
import { Stepped } from './stepped.ts';

const LATER: ReminderChange = { name: 'close', afterMs: 60_000, data: '{"n":1}' };
const leaving = (...reminders: ReminderChange[]): Settlement => ({ ...HANDLED, reminders });

/** Records an event of a media, and settles it with reminders. */
async function set(store: EventStore, resource: string, ...reminders: ReminderChange[]): Promise<Claim> {
  await recorded(store, notified(resource));
  const claim = await claimedOne(store, resource);
  await store.queue.settle(claim, leaving(...reminders));
  return claim;
}

const due = async (store: EventStore) => {
  await store.queue.comeDue({});
  return (await polled(store)).map(({ body, ...claim }) => ({ ...claim, body: JSON.parse(body) }));
};

onEachEngine('reminders', (stage) => {
  test('a reminder becomes an event of its media once, when it is due, and not before', async () => {
    const { store } = stage;
    const other = await stage.another();
    await stage.clock.advance(HOUR_MS); // PostgreSQL goes by its own
    const setter = await set(store, 'media:one', LATER);
    await set(store, 'media:two', LATER);
    expect([await due(store), (await store.queue.work()).isReminder]).toEqual([[], 0]);
    await stage.pass(60_001);
    expect((await store.queue.work()).isReminder).toBe(1);
    const [one, two] = [...(await due(other)), ...(await due(store))];
    const body = { event: 'reminder', media_id: 'one', name: 'close', data: { n: 1 } };
    const times = { set_at: expect.any(String), due_at: expect.any(String) };
    expect(one).toMatchObject({
      resource: 'media:one',
      kind: 'reminder',
      origin: 'reminder',
      siteId: setter.siteId,
    });
    expect(one?.body).toEqual({ ...body, ...times });
    expect(two?.id).not.toBe(one?.id);
    expect(await due(store)).toEqual([]);
  });

  test('each run that sets a reminder for the same time sets another one: after a replay, after a retry, and of a later event', async () => {
    const { store } = stage;
    const close = { name: 'close', at: 1 };
    const came: string[] = [];
    const handle = async () => {
      for (const claim of await due(store)) {
        came.push(claim.id);
        await store.queue.settle(claim as never, HANDLED);
      }
    };
    const { id } = await set(store, 'media:one', close);
    await handle();
    await store.queue.replay({ ids: [id] });
    for (const end of [{ status: 'pending', outcome: 'retry', afterMs: 0 }, {}] as const) {
      await store.queue.settle(await claimedOne(store, 'media:one'), { ...leaving(close), ...end });
      await handle();
      await store.queue.wake();
    }
    await set(store, 'media:one', close);
    await handle();
    expect(new Set(came).size).toBe(4);
    expect(came).toHaveLength(4);
  });

  test('dismissing an event forgets what it set, and removing a subscriber what was set for it', async () => {
    const { store } = stage;
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] });
    const { id } = await set(store, 'media:one', LATER);
    await store.queue.replay({ ids: [id] });
    await store.queue.dismiss({ ids: [id] }, 'no');
    await store.queue.wake(SEARCH);
    for (const claim of await polled(store, SEARCH)) await store.queue.settle(claim, leaving(LATER));
    await store.queue.removeSubscriber('search');
    expect(await stage.sql('SELECT * FROM reminders')).toEqual([]);
  });

  test('a tick comes with the first step, behind more reminders than one step takes', async () => {
    const { store } = stage;
    const list = [{ resource: 'schedule:digest', data: '{"every":3600000}' }];
    await store.queue.schedule({ list });
    const columns = 'resource, name, due_at, set_at, data';
    const many = Array.from({ length: 600 }, (_, n) => `('media:${n}', 'close', 1, 1, 'null')`);
    await stage.sql(`INSERT INTO reminders (${columns}) VALUES ${many.join()}`);
    await stage.pass(3_600_000);
    expect(await store.queue.comeDue({ schedules: list })).toContain('schedule:digest');
  });

  test('are no notifications: no subscriber gets them, no reader of the cursor, no bulk replay that does not name them', async () => {
    const { store, clock } = stage;
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available', 'unknown', 'reminder'] });
    const told = await set(store, 'media:one', LATER);
    const list = [{ resource: 'schedule:digest', data: '{"every":1000}' }];
    await store.queue.schedule({ list });
    await stage.pass(60_001);
    await store.queue.comeDue({ schedules: list });
    const own = await polled(store);
    expect(own.map(({ kind }) => kind).sort()).toEqual(['reminder', 'schedule:digest']);
    for (const claim of own) await store.queue.settle(claim, { ...HANDLED, startedAt: clock.now() });
    expect(await given(store)).toEqual([told.id]);
    await stage.sql("DELETE FROM events WHERE subscriber = 'search'");
    expect(await store.queue.startSubscriber('search', 0)).toEqual({ events: 1, left: 0 });
    const read = (await Array.fromAsync(store.queue.received({}, await store.queue.lastSeq()))).flat();
    expect(read.map(({ id }) => id)).toEqual([told.id]);
    const replayed = async (filter: EventFilter) => (await store.queue.replay(toReplay(filter))).events;
    expect(await replayed({ subscriber: '' })).toBe(1);
    expect(await replayed({ kind: 'reminder', status: 'handled' })).toBe(1);
    expect(await replayed({ ids: own.map(({ id }) => id), resource: 'schedule:digest' })).toBe(1);
    await stage.sql("UPDATE events SET ended_at = 1 WHERE origin <> 'notification'");
    expect(await store.queue.prune({ before: 2, limit: 9 })).toBe(2);
  });
});

type Act = (store: EventStore) => Promise<unknown>;

const HOUR_MS = 3_600_000;
const HOURLY = [{ resource: 'schedule:digest', data: '{"every":3600000}' }];
const SELDOM = [{ resource: 'schedule:digest', data: '{"every":7200000}' }];

/** Records an event of the media, and claims that of the subscriber. */
async function claimedNext(store: EventStore): Promise<Claim> {
  await recorded(store, notified());
  await store.queue.wake(SEARCH);
  return present((await polled(store, SEARCH))[0]);
}

const settling = (end: Settlement) => async (store: EventStore) => {
  const claim = await claimedNext(store);
  return (other: EventStore) => other.queue.settle(claim, end);
};

/**
 * What meets a reminder of media:one that comes due just then: how it begins, and which reminders run in the end, those of an hour later
 * in brackets; for some, that depends on which is first.
 */
const meetings: Readonly<Record<string, [(store: EventStore, setter: Claim) => Promise<Act>, ...string[]]>> =
  {
    'a settlement that forgets it': [settling(leaving({ name: 'close' })), ''],
    'a settlement that moves it': [settling(leaving({ ...LATER, afterMs: HOUR_MS })), '(close)'],
    'a settlement that sets another one': [settling(leaving({ ...LATER, name: 'open' })), 'close(open)'],
    'a run that fails': [settling(FAILED), 'close'],
    'a claim': [
      async (store) => {
        await recorded(store, notified());
        await store.queue.wake(SEARCH);
        return async (other) => {
          for (const claim of await polled(other, SEARCH)) await other.queue.settle(claim, HANDLED);
        };
      },
      'close',
    ],
    'the recovery of a lease': [
      async (store) => {
        await claimedNext(store);
        return (other) => other.queue.recover({ ...SEARCH, ...MOST });
      },
      'close',
    ],
    'a dismissal of what set it': [
      async (_, { id }) =>
        (other) =>
          other.queue.dismiss({ ids: [id] }, 'no'),
      '',
      'close',
    ],
    'a removal of its subscriber': [async () => (other) => other.queue.removeSubscriber('search'), ''],
    'another process that has it come due': [async () => (other) => other.queue.comeDue(SEARCH), 'close'],
  };

/** What meets a tick, and whether the tick runs: of that, too, the order may decide. */
const starts: Readonly<Record<string, [Act, ...string[]]>> = {
  'another process that makes it': [(other) => other.queue.comeDue({ schedules: HOURLY }), 'digest'],
  'a process that starts with the same times': [(other) => other.queue.schedule({ list: HOURLY }), 'digest'],
  'one that starts with other times': [(other) => other.queue.schedule({ list: SELDOM }), '', 'digest'],
};

/** Has reminders and ticks come due while something else goes on. @param meet does both, in some order */
function meeting(stage: Stage, meet: (due: Act, other: Act) => Promise<unknown>): void {
  /** Has come due what is, and handles all that is ready. @returns the names of the reminders and ticks that run */
  const run = async (of: Partial<Parameters<EventStore['queue']['comeDue']>[0]> = {}): Promise<string> => {
    const { store } = stage;
    await store.queue.comeDue(of);
    await store.queue.recover({ ...MOST, ...of }); // it leaves out lanes that others have locked
    const claims = await polled(store, of);
    for (const claim of claims) await store.queue.settle(claim, HANDLED);
    const own = claims.filter(({ origin }) => ['reminder', 'schedule'].includes(origin));
    const names = own.map(({ body }) => JSON.parse(body).name).join('');
    return claims.length > 0 ? names + (await run(of)) : names;
  };
  const inBrackets = (names: string) => names && `(${names})`;

  test.each(Object.entries(meetings))('a reminder, and %s', async (_, [begin, ...ran]) => {
    const { store } = stage;
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] });
    const setter = await claimedNext(store);
    await store.queue.settle(setter, { ...leaving(LATER), status: 'dead', outcome: 'failed' });
    const other = await begin(store, setter);
    await stage.pass(60_001);
    await meet((one) => one.queue.comeDue(SEARCH), other);
    const now = await run(SEARCH);
    await stage.pass(HOUR_MS);
    expect(ran).toContain(now + inBrackets(await run(SEARCH)));
  });

  test.each(Object.entries(starts))('a tick, and %s', async (_, [other, ...ran]) => {
    const { store } = stage;
    await store.queue.schedule({ list: HOURLY });
    await stage.pass(HOUR_MS);
    await meet((one) => one.queue.comeDue({ schedules: HOURLY }), other);
    expect(ran).toContain(await run());
    await stage.sql('DELETE FROM events'); // on PostgreSQL the next tick is for the same hour
    await stage.pass(2 * HOUR_MS);
    const [hourly, seldom] = [await run({ schedules: HOURLY }), await run({ schedules: SELDOM })];
    expect(hourly + seldom).toBe('digest'); // by the times of the process that started last
    expect(hourly === '').toBe(ran.includes(''));
  });
}

onEachEngine('one after the other', (stage) => {
  let second: EventStore;
  beforeAll(async () => {
    second = await stage.another();
  });
  describe('there come due before the other', () => {
    meeting(stage, async (due, other) => {
      await due(stage.store);
      await other(second);
    });
  });
  describe('there come due after the other', () => {
    meeting(stage, async (due, other) => {
      await other(second);
      await due(stage.store);
    });
  });
});

onPostgres('in two transactions there come due', (stage) => {
  let a: Stepped;
  let b: Stepped;
  beforeAll(async () => {
    [a, b] = [await Stepped.start(stage, 'process-a'), await Stepped.start(stage, 'process-b')];
  });
  afterEach(() => expect([...a.errors.splice(0), ...b.errors.splice(0)]).toEqual([]));

  describe.each([/^INSERT INTO lanes/, /^DELETE FROM reminders/, /^INSERT INTO events/, /COMMIT$/])(
    'when the first stands before %s,',
    (statement) => {
      meeting(stage, async (due, other) => {
        const go = await a.upTo(statement, due);
        const { result } = await b.goes(other);
        await go();
        await result;
      });
    },
  );

  // Where each of the others has its locks.
  const LOCKED =
    /^(UPDATE lanes SET\s+lease|DELETE FROM lanes|INSERT INTO (events|reminders)|UPDATE (subscribers|events SET status = '))/;
  describe('when the other stands before its last statements,', () => {
    meeting(stage, async (due, other) => {
      const go = await b.upTo(LOCKED, other);
      const { result } = await a.goes(due);
      await go();
      await result;
    });
  });
});
