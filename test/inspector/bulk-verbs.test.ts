import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { eventsIn } from '../support/events-in.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect, inspectedForEachTest } from '../support/inspected-service.ts';
import { storeWith } from '../support/receiver-fixture.ts';
import { verified } from '../support/verified-notification.ts';

/** More than two steps of a replay. */
const MANY = 1100;
const start = inspectedForEachTest();
/** What happens after a step of a replay, before the next one. */
let afterStep: () => void | Promise<void>;
beforeEach(() => {
  afterStep = () => {};
});

/** A store whose replays do what a test wants after each step. */
const stepped = (store: EventStore): EventStore =>
  storeWith(store, {
    queue: {
      replay: (filter, options) =>
        store.queue.replay(filter, {
          ...options,
          async onStep(ids) {
            await options?.onStep?.(ids);
            await afterStep();
          },
        }),
    },
  });

/** A service with so many handled events, which handles none of those that are reset. */
async function filled() {
  const inspected = await start({}, {}, { wrap: stepped });
  const { store, dispatcher } = inspected.service;
  await dispatcher.stop(0);
  const all = Array.from({ length: MANY }, (_, n) => verified({ media_id: `media-${n}` }));
  await Promise.all(all.map((one) => store.queue.record(one)));
  await settleAll(store, HANDLED);
  const post = (given: object) => postTo(inspected, '/api/events/replay', given);
  /** How many events were replayed how often. */
  const replays = async () => {
    const counts = new Map<number, number>();
    for (const { replays } of await eventsIn(store, {}, 10_000))
      counts.set(replays, (counts.get(replays) ?? 0) + 1);
    return Object.fromEntries(counts);
  };
  return { ...inspected, post, submit: inspected.post, replays };
}

/** The status and the members of what the API answers. */
async function postTo({ post }: Pick<Inspected, 'post'>, path: string, given: object) {
  const { status, body } = await post(path, given);
  return { status, ...JSON.parse(body) };
}

/** Holds a replay after its first step. */
function hold() {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const { promise, resolve: release } = Promise.withResolvers<void>();
  afterStep = () => {
    reach();
    return promise;
  };
  return { reached, release };
}

describe('a bulk replay', () => {
  test('takes all that match once, when the button of the page is pressed twice, and says how many', async () => {
    const { raw, replays, submit } = await filled();
    const { body } = await raw('/events/replay?kind=media_available');
    expect(body).toContain(`Replay ${MANY.toLocaleString('en')} events`);
    const [, query = ''] = /action="events\/replay(\?[^"]+)"/.exec(body) ?? [];
    const progress = query.replaceAll('&amp;', '&');
    const press = async () => String((await submit(`/events/replay${progress}`, {})).headers.location);
    expect(await Promise.all([press(), press()])).toEqual([progress, progress]);
    const said = `${MANY.toLocaleString('en')} events were reset to pending`;
    expect((await raw(`/events/replay${progress}`)).body).toContain(said);
    expect(await press()).toBe(progress);
    expect(await replays()).toEqual({ 1: MANY });
  });

  test('says how far it is, in a page of its own and to whoever wants another one, while it is under way', async () => {
    const { raw, post, submit, replays } = await filled();
    const { reached, release } = hold();
    const id = '0b0e7a4e-94e4-4d33-8f0a-2f7ed1d24a4e';
    const pressed = submit(`/events/replay?all=true&id=${id}`, {});
    await reached;
    expect(await post({ status: 'handled' })).toEqual({
      status: 409,
      error: expect.stringContaining('another replay is under way, with 500 events so far'),
    });
    const page = await raw(`/events/replay?id=${id}`);
    expect(page.body).toContain('500 events were reset to pending so far');
    release();
    expect((await pressed).status).toBe(303);
    expect(await replays()).toEqual({ 1: MANY });
  });

  test('says how far it came, when it was cut short, and takes the rest when asked again', async () => {
    const { post, replays } = await filled();
    afterStep = () => {
      throw new Error('the disk is away');
    };
    const error = 'it was cut short after 500 events (the disk is away): ask again for the rest';
    expect(await post({ all: true })).toEqual({ status: 503, error });
    expect(await replays()).toEqual({ 0: MANY - 500, 1: 500 });
    afterStep = () => {};
    expect(await post({ all: true })).toMatchObject({ status: 200, events: MANY - 500 });
    expect(await replays()).toEqual({ 1: MANY });
  });
});

describe('a dismissal', () => {
  let inspected: Inspected;
  beforeAll(async () => {
    inspected = await inspect({
      media_available() {},
      media_updated(event) {
        throw new Error(`cannot publish ${event.media_id}`);
      },
      media_deleted() {
        throw new Error('the archive is gone');
      },
    });
    for (let number = 0; number < 6; number++) {
      const event = number % 2 === 0 ? 'media_updated' : 'media_deleted';
      await inspected.deliver(notification({ media_id: `m${number}`, event }));
    }
    await inspected.deliver(notification({ media_id: 'fine' }));
    await inspected.settled();
  });

  const post = (path: string, given: object) => postTo(inspected, `/api${path}`, given);

  async function idsOf(filter: string): Promise<string[]> {
    return (await inspected.api(`/events?${filter}`)).events.map(({ id }: { id: string }) => id);
  }

  test('ends what matches and nothing else, when the error is a pattern; it counts first, and the log says who', async () => {
    const filter = { error: '*cannot publish *' };
    const counted = { status: 200, dry_run: true, events: 3, more: false };
    expect(await post('/events/dismiss', { ...filter, dry_run: true })).toEqual(counted);
    expect(await idsOf('status=dead')).toHaveLength(6);
    const done = await post('/events/dismiss', { ...filter, reason: 'not published any more' });
    expect(done).toEqual({ ...counted, dry_run: false });
    expect(await idsOf('status=dead')).toHaveLength(3);
    const { events } = await inspected.api('/events?status=dismissed');
    expect(events).toHaveLength(3);
    for (const event of events) expect(event).toMatchObject({ last_error: 'not published any more' });
    const lines = inspected.log.lines.map((line) => JSON.parse(line));
    const answer = { dry_run: false, events: 3, more: false };
    const asked = { ...filter, reason: 'not published any more' };
    const said = { msg: 'done at the inspector', source: '127.0.0.1', asked, answer };
    expect(lines).toContainEqual(expect.objectContaining(said));
  });

  test('takes one event, by API and by its page, and says so where there is nothing to end', async () => {
    const [first = '', second = ''] = await idsOf('status=dead');
    expect(await post(`/events/${first}/dismiss`, { reason: 'seen' })).toMatchObject({ dismissed: 1 });
    expect((await inspected.post(`/events/${second}/dismiss`, { reason: ' ' })).status).toBe(400);
    expect((await inspected.post(`/events/${second}/dismiss`, { reason: 'a test' })).status).toBe(303);
    expect((await inspected.raw(`/events/${second}`)).body).toContain('a test');
    const again = { status: 409, error: expect.stringContaining('event is dismissed now') };
    expect(await post(`/events/${first}/dismiss`, { reason: 'seen' })).toEqual(again);
    const [handled] = await idsOf('status=handled');
    expect(await post(`/events/${handled}/dismiss`, { reason: 'x' })).toMatchObject({ status: 409 });
  });
});
