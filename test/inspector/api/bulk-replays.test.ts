import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { BulkReplays, type Progress } from '../../../src/inspector/api/replays.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openStore } from '../../../src/store/open.ts';
import { claims, HANDLED } from '../../support/claiming.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { inspectedForEachTest } from '../../support/inspected-service.ts';
import { logLines } from '../../support/log-lines.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { size } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

/** Records so many events and handles them. */
async function fill(store: EventStore, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  await Promise.all(
    numbers.map((number) =>
      store.record(verified({ media_id: `media-${number % 50}`, at: EVENT_TIME + number * 1000 })),
    ),
  );
  for (let ready = await claims(store); ready.length > 0; ready = await claims(store)) {
    await Promise.all(ready.map((claim) => store.settle(claim, HANDLED)));
  }
}

/**
 * Gives each test of a block a database of so many handled events, which is filled once and copied.
 * @returns the path of the copy of the test that runs
 */
function filledDatabase(count: number): () => string {
  let directory = '';
  let copies = 0;
  const pathOf = (folder: string) => join(directory, folder, 'receiver.db');
  beforeAll(async () => {
    directory = await temporaryDirectory();
    const store = await openStore({
      url: `sqlite:${pathOf('original')}`,
      clock: new VirtualClock(),
      threads: false,
    });
    await fill(store, count);
    await store.close();
  });
  beforeEach(() => {
    copies++;
    cpSync(join(directory, 'original'), join(directory, `${copies}`), { recursive: true });
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  return () => pathOf(`${copies}`);
}

/** How often the events of a store were replayed. */
async function replaysOf(store: EventStore): Promise<ReadonlySet<number>> {
  return new Set((await eventsIn(store, {}, 100_000)).map(({ replays }) => replays));
}

describe('a bulk replay over HTTP', () => {
  // More than a few steps, and at full size than one request ever took.
  const MANY = size({ small: 1100, full: 5600 });
  const database = filledDatabase(MANY);
  const inspect = inspectedForEachTest();
  const filled = async () => {
    const inspected = await inspect({}, { DATABASE_URL: `sqlite:${database()}` });
    await inspected.service.dispatcher.stop(0); // reset events stay pending
    return inspected;
  };
  const json = { 'content-type': 'application/json' };

  test('takes all that match and says how many, when they are many, and takes none twice when asked again by its id', async () => {
    const { api, service } = await filled();
    const ask = (body: object) =>
      api('/events/replay', { method: 'POST', headers: json, body: JSON.stringify(body) });
    expect(await ask({ dry_run: true })).toEqual({ dry_run: true, events: MANY, next: null });
    const replay = 'replay-of-everything';
    // On a busy machine the first answer may come before the end.
    await eventually('it has ended', async () => !('replay' in (await ask({ all: true, replay }))));
    expect(await ask({ all: true, replay })).toEqual({ dry_run: false, events: MANY, next: null });
    expect(await service.store.count({ status: 'pending' })).toBe(MANY);
    expect(await replaysOf(service.store)).toEqual(new Set([1]));
  });

  test('takes all that match once, when the button of the page is pressed twice, and leads to how many', async () => {
    const { raw, url, service } = await filled();
    const page = await raw('/events/replay?kind=media_available');
    expect(page.body).toContain(`Replay ${MANY.toLocaleString('en')} events`);
    const fields = [...page.body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
    const form = new URLSearchParams(
      Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value])),
    );
    const press = () =>
      raw('/events/replay', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url },
        body: form.toString(),
      });
    const led = async () => {
      const { status, headers } = await press();
      return { status, location: String(headers.location) };
    };
    await Promise.all([led(), led()]);
    // On a busy machine the first answers may come before the end, and lead to how far it is.
    const all = { status: 303, location: `/events?kind=media_available&replayed=${form.get('replay')}` };
    await eventually('it has ended', async () => (await led()).location === all.location);
    expect(await led()).toEqual(all);
    const said = `${MANY.toLocaleString('en')} events were reset to pending`;
    expect((await raw(all.location)).body).toContain(said);
    expect((await raw('/events?replayed=999')).body).not.toContain('reset to pending');
    expect(await service.store.count({ status: 'pending' })).toBe(MANY);
    expect(await replaysOf(service.store)).toEqual(new Set([1]));
  });

  test('is refused, when another one is under way, with 409 and how far that is', async () => {
    const { url } = await filled();
    const post = (body: object) =>
      fetch(`${url}/api/events/replay`, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const [first, second] = await Promise.all([post({ all: true }), post({ status: 'handled' })]);
    expect([first.status, second.status].toSorted()).toEqual([200, 409]);
    expect(await (first.status === 409 ? first : second).json()).toEqual({
      error: expect.stringMatching(/^another replay is under way, and it has reset \d+ events so far/),
    });
  });
});

describe('a bulk replay', () => {
  const COUNT = 1100;
  const ALL = { filter: {}, before: undefined, resetSteps: false };
  const clock = new VirtualClock();
  const database = filledDatabase(COUNT);
  let store: EventStore;
  let replays: BulkReplays;
  let woken = 0;

  beforeEach(async () => {
    store = await openStore({ url: `sqlite:${database()}`, clock, threads: OWN_THREADS });
    woken = 0;
    replays = new BulkReplays({ store, clock, log: logLines().log, wake: () => woken++ });
  });
  afterEach(() => store.close());

  /** Lets time pass until a replay stands so. */
  const until = (id: string, what: string, holds: (events: number, isOver: boolean) => boolean) =>
    eventually(what, async () => {
      const found = replays.find(id);
      if (found && holds(found.events, found.isOver)) return true;
      await clock.advance(5);
      return false;
    });

  /** Begins one, whose first step is done when this resolves: time stands still from then on. */
  const begin = async (id: string, waitMs = 1000): Promise<{ readonly answer: Promise<Progress> }> => {
    const answer = replays.run(ALL, waitMs, id);
    await eventually('the first step is done', () => (replays.find(id)?.events ?? 0) > 0);
    return { answer };
  };

  const ended = (id: string) => until(id, 'it has ended', (_events, isOver) => isOver);

  test('goes on by itself, when no client waits for it any longer, and its id leads to its progress', async () => {
    const { answer } = await begin('one', 4);
    await clock.advance(4);
    expect(await answer).toMatchObject({ id: 'one', events: 500, isOver: false });
    expect(await replaysOf(store)).toEqual(new Set([0, 1]));
    await ended('one');
    expect(await replays.run(ALL, 1000, 'one')).toMatchObject({ events: COUNT, isOver: true, next: null });
    expect(await replaysOf(store)).toEqual(new Set([1]));
    expect(await store.count({ status: 'pending' })).toBe(COUNT);
    expect(woken).toBeGreaterThan(0);
  });

  test('is joined, when just the same is asked for meanwhile, and stands in the way of any other', async () => {
    const { answer } = await begin('one');
    const same = replays.run(ALL, 1000, 'two');
    await expect(replays.run({ ...ALL, resetSteps: true }, 1000, 'three')).rejects.toMatchObject({
      status: 409,
    });
    await ended('one');
    expect(await same).toEqual(await answer);
    expect((await same).id).toBe('one');
    expect(await replaysOf(store)).toEqual(new Set([1]));
  });

  test('goes on where it ended, when a stop has cut it short, and takes no event twice', async () => {
    const { answer } = await begin('one');
    const stopped = replays.stop();
    await clock.advance(5);
    await stopped;
    const { events, next, problem } = await answer;
    expect({ events, problem }).toEqual({ events: 500, problem: 'the service was stopped' });
    await expect(replays.run(ALL, 1000, 'too late')).rejects.toMatchObject({ status: 503 });
    for (let ready = await claims(store); ready.length > 0; ready = await claims(store)) {
      await Promise.all(ready.map((claim) => store.settle(claim, HANDLED)));
    }
    replays = new BulkReplays({ store, clock, log: logLines().log, wake() {} });
    const rest = replays.run({ ...ALL, before: next ?? undefined }, 100_000, 'rest');
    await ended('rest');
    expect(await rest).toMatchObject({ events: COUNT - 500, problem: undefined, next: null });
    expect(await replaysOf(store)).toEqual(new Set([1]));
    expect(await store.count({ status: 'handled' })).toBe(500);
  });

  test('says why and where to go on, when the store fails meanwhile', async () => {
    const { answer } = await begin('one');
    await store.close();
    await ended('one');
    const { events, next, problem } = await answer;
    expect({ events, next }).toEqual({ events: 500, next: expect.stringMatching(/^\w+-\w{20}$/) });
    expect(problem).toBeTruthy();
    store = await openStore({ url: `sqlite:${database()}`, clock, threads: OWN_THREADS });
  });
});
