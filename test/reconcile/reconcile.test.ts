import { expect, test } from '@jest/globals';
import { defineApp, type ExpectedNotification, type Handlers, type Reconcile } from '../../src/index.ts';
import { type TestReceiver, testReceiver } from '../../src/testing/index.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A notification that should have come, some minutes after the beginning. */
const lost = (media_id: string, minutes = 0): ExpectedNotification => ({
  ...{ event: 'media_available', media_id, site_id: 'site' },
  event_time: new Date(START + minutes * MINUTE),
});

/** An app whose handlers note what they are given. */
function noting(reconcile: Reconcile<undefined>) {
  const handled: unknown[][] = [];
  const media_available: Handlers['media_available'] = (
    { media_id, webhook_id },
    { origin, repeats, subscriber },
  ) => void handled.push([media_id + subscriber, webhook_id, origin, repeats]);
  const handlers = { media_available };
  const app = defineApp({ handlers, subscribers: { search: { handlers } }, reconcile });
  return { app, handled };
}

/**
 * What is reconciled from lists: one a pass, the last one again and again.
 * @param since gets the hours after the beginning from which each pass looks
 */
function passes(lists: readonly (readonly ExpectedNotification[])[], since: number[] = []) {
  const left = [...lists];
  return {
    async *expected(from: Date) {
      since.push(Math.round((from.getTime() - START) / HOUR));
      yield* (left.length > 1 ? left.shift() : left[0]) ?? [];
    },
  };
}

async function pass(kit: TestReceiver) {
  await kit.advance('1h');
  await kit.settled();
  return (await kit.state('schedule:reconcile')).pass;
}

const reconciled = async (kit: TestReceiver) =>
  (await kit.events()).filter(({ origin }) => origin === 'reconciled').map(({ resource }) => resource);

test('what has not come is recorded once, in the place of the notification, for main and each subscriber, and what comes later names it once', async () => {
  const { app, handled } = noting(passes([[lost('lost'), lost('came'), lost('young', 50)]]));
  await using kit = await testReceiver({ app });
  await kit.deliver('media_available', { media_id: 'came', event_time: '2026-01-01T00:00:00+00:00' });
  const missing = { media_available: 1 };
  expect(await pass(kit)).toMatchObject({ expected: 3, missing, quarantined: 0, isRecorded: true });
  expect(handled.slice(2)).toEqual([
    ['lost', 'hookkit', 'reconciled', undefined],
    ['lostsearch', 'hookkit', 'reconciled', undefined],
  ]);
  const [event] = await kit.events({ resource: 'media:lost' });
  for (let n = 0; n < 2; n++) await kit.deliver('media_available', { media_id: 'lost' });
  await kit.settled();
  const from = expect.not.stringContaining('hookkit');
  for (const [name, ending] of [
    ['lost', ''],
    ['lostsearch', '@search'],
  ])
    expect(handled.slice(4).filter(([media]) => media === name)).toEqual([
      [name, from, 'notification', `${event?.id}${ending}`],
      [name, from, 'notification', undefined],
    ]);
  expect(await pass(kit)).toMatchObject({ missing });
  expect(Object(await pass(kit)).missing).toEqual({});
  expect(await reconciled(kit)).toEqual(['media:lost', 'media:young']);
});

test('what is recorded has the members of its kind alone, and its time in whole seconds of UTC, however it is given', async () => {
  const given = [
    { event_time: new Date(START + 1999) },
    { event_time: '2026-01-01T02:00:02.999999+02:00', title: 'a member that no notification has' },
    { event_time: '2026-01-01T00:00:03Z', webhook_id: 'of the app' },
  ];
  const list = given.map((more, n) => ({ ...lost(`media${n}`), ...more }));
  await using kit = await testReceiver(noting(passes([list])));
  await pass(kit);
  expect((await kit.events({ kind: 'media_available' })).map(({ body }) => body)).toEqual(
    given.map(
      (_, n) =>
        `{"event":"media_available","media_id":"media${n}","webhook_id":"hookkit","site_id":"site","event_time":"2026-01-01T00:00:0${n + 1}+00:00"}`,
    ),
  );
});

test.each<[string, object | null]>([
  ['event: must be one of the kinds', { event: 'media_exploded' }],
  ['media_id: must be a text', { media_id: 5 }],
  ['thumbnail_id: must be a text', { event: 'thumbnail_created' }],
  ['site_id: must be a text', { site_id: undefined }],
  ['event_time: must be an ISO 8601 date and time with an offset', { event_time: '2026-01-01T00:00:00' }],
  ['event_time: must be', { event_time: START }],
  ['event_time: must be', { event_time: new Date(8e15) }],
  ['event: must be one of the kinds', null],
])('nothing of a pass is recorded, when one that it is given is none: %s', async (problem, wrong) => {
  const list = [lost('good'), (wrong && { ...lost('bad'), ...wrong }) as ExpectedNotification];
  await using kit = await testReceiver(noting(passes([list, [lost('good')]])));
  await kit.advance('1h');
  expect(await reconciled(kit)).toEqual([]);
  const [tick] = await kit.events({ kind: 'schedule:reconcile' });
  expect(tick).toMatchObject({ status: 'pending', lastError: expect.stringContaining(problem) });
  expect(tick?.lastError).toMatch(/^TypeError: reconcile: `expected` yielded no notification: /);
  await kit.settled();
  expect(await reconciled(kit)).toEqual(['media:good']);
});

test('a pass that breaks off has recorded nothing, and begins again from the same time', async () => {
  const since: number[] = [];
  async function* expected(from: Date) {
    since.push(Math.round((from.getTime() - START) / HOUR));
    for (let n = 0; n < 250; n++) yield lost(`media${n}`);
    if (since.length === 1) throw new Error('the list of media answered 503');
  }
  await using kit = await testReceiver(noting({ expected }));
  await kit.advance('1h');
  expect(await reconciled(kit)).toEqual([]);
  await kit.settled();
  expect(await reconciled(kit)).toHaveLength(250);
  expect(since).toEqual([-47, -47]);
  expect((await kit.events({ kind: 'schedule:reconcile' })).map(({ starts }) => starts)).toEqual([2]);
});

test('of more than `most`, none is recorded, and the log says so; of exactly so many, all are', async () => {
  const list = ['one', 'two', 'three'].map((id) => lost(id));
  const since: number[] = [];
  const made = noting({ most: 2, ...passes([list, list, list.slice(1)], since) });
  await using kit = await testReceiver(made);
  for (let n = 0; n < 2; n++) {
    const told = { expected: 3, missing: { media_available: 3 }, quarantined: 0, isRecorded: false };
    expect(await pass(kit)).toEqual({ beganAt: expect.any(Number), since: expect.any(Number), ...told });
  }
  const said = kit.log().filter(({ msg }) => String(msg).startsWith('reconciled'));
  expect(said).toMatchObject([1, 2].map(() => ({ level: 'error', missing: { media_available: 3 } })));
  expect(made.handled).toEqual([]);
  expect(await pass(kit)).toMatchObject({ isRecorded: true });
  expect(await reconciled(kit)).toEqual(['media:two', 'media:three']);
  expect(since).toEqual([-47, -47, -47]);
});

test('each pass goes back to the start of the last whole one, less `lookback`, and to what was too young for that', async () => {
  const two = [lost('one'), lost('two')];
  const [far, near]: number[][] = [[], []];
  await using first = await testReceiver(
    noting({ lookback: '3h', most: 1, ...passes([[], two, two, []], far) }),
  );
  for (let n = 0; n < 5; n++) await pass(first);
  expect(far).toEqual([-2, -2, -2, -2, 1]);
  await using second = await testReceiver(noting({ after: '2h', lookback: '1h', ...passes([[]], near) }));
  for (let n = 0; n < 2; n++) await pass(second);
  expect(near).toEqual([-1, -1]);
});
