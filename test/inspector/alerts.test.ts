import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { type Got, scripted } from '../provider/support.ts';
import { Breakable } from '../support/breakable-store.ts';
import { type TestDatabase, testDatabase } from '../support/engine.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { present } from '../support/only.ts';
import { storeWith, withOneClock } from '../support/receiver-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const inspect = inspectedForEachTest();
const SECRET_PATH = '/services/T0/hunter2';

let database: TestDatabase;
let clock: VirtualClock;
let url: string;
let got: Got[];
let answer: readonly [number, string];
beforeEach(async () => {
  database = await testDatabase(await temporaryDirectory());
  clock = new VirtualClock(Date.now());
  answer = [200, ''];
  ({ url, got } = await scripted((response) => response.writeHead(answer[0], { location: answer[1] }).end()));
});
afterEach(() => database.remove());

/** A process on the database. What was posted is timed by the virtual clock on PostgreSQL, too. */
async function started(name = 'one', wrap = (store: EventStore) => store): Promise<Inspected> {
  const timed = (store: EventStore) => {
    const holdAlerts: EventStore['reports']['holdAlerts'] = async (given) => {
      const held = await store.reports.holdAlerts(given);
      return held && { ...held, now: clock.now() };
    };
    return wrap(storeWith(withOneClock(store), { reports: { holdAlerts } }));
  };
  const env = { ...database.env, INSTANCE_NAME: name, ALERT_URL: url + SECRET_PATH };
  const inspected = await inspect({}, env, { clock, wrap: timed });
  await clock.advance(0); // its first round
  return inspected;
}

/** Lets ten seconds pass so many times. The lease is by PostgreSQL's own clock. */
async function rounds(count: number): Promise<void> {
  const renewed = "jsonb_build_object('renewedAt', (value::jsonb->>'renewedAt')::bigint - 10000)";
  const postgres = `UPDATE hookkit.meta SET value = (value::jsonb || ${renewed})::text WHERE name = 'alerts'`;
  for (let round = 0; round < count; round++) {
    await database.execute({ sqlite: 'SELECT 1', postgres });
    await clock.advance(10_000);
  }
}

/** Processes that were last seen 40 seconds ago, by the clock of the store. */
async function addGone(one: Inspected, ...names: readonly string[]): Promise<void> {
  await one.addGone(...names);
  const past = `SET seen_at = seen_at - 40000, clock_at = clock_at - 40000 WHERE name IN ('${names.join("', '")}')`;
  await database.execute({
    sqlite: `UPDATE instances ${past}`,
    postgres: `UPDATE hookkit.instances ${past}`,
  });
}

const pause = ({ service }: Inspected, reason = 'the archive moves') =>
  service.store.queue.pause({ reason, by: 'Ada' });

/** What was posted since the last look: the state, fault and object of each. */
const news = () => got.splice(0).map(({ body }) => JSON.parse(body));
const brief = () =>
  news().map(({ faults }) =>
    faults.map((one: Record<string, string>) => `${one.status} ${one.fault} ${one.of ?? ''}`.trim()),
  );

test('what is grave is posted when it begins and when it is over, once a minute, with what came meanwhile', async () => {
  const one = await started();
  const { store } = one.service;
  await rounds(1);
  expect(got).toEqual([]);
  await pause(one);
  await rounds(1);
  const since = new Date(clock.now()).toISOString();
  expect(got).toMatchObject([
    { method: 'POST', url: SECRET_PATH, headers: { 'content-type': 'application/json' } },
  ]);
  const text = 'Handling has been paused for 10.0 s, by Ada: the archive moves';
  expect(news()).toEqual([
    {
      text: expect.stringMatching(/^✕ one: Handling has been paused for .*: `npx hookkit resume`\.$/),
      ...{ status: 'firing', fault: 'paused', since },
      faults: [{ status: 'firing', fault: 'paused', since, text }],
    },
  ]);
  await addGone(one, 'gone-1', 'gone-2', 'brief');
  await rounds(2);
  await store.reports.forget({ name: 'brief' });
  await rounds(3);
  expect(brief()).toEqual([]);
  await rounds(1);
  expect(brief()).toEqual([['firing away gone-1', 'firing away gone-2']]);
  await store.queue.resume();
  await store.reports.forget({ name: 'gone-2' });
  await addGone(one, 'gone-3');
  await rounds(6);
  expect(news()).toMatchObject([
    {
      text: expect.stringMatching(/^✕ one: Instance gone-3 .*\n✓ one: over after 2 min: Handling has been /),
      ...{ status: 'firing', fault: 'away' },
      faults: [{ of: 'gone-3' }, { status: 'resolved', fault: 'paused', since }, { of: 'gone-2' }],
    },
  ]);
  for (const name of ['gone-1', 'gone-3']) await store.reports.forget({ name });
  await rounds(7);
  expect(brief()).toEqual([['resolved away gone-1', 'resolved away gone-3']]);
});

test('a fault that is gone for a single round is the same one, and so is one whose numbers change', async () => {
  const one = await started();
  await pause(one);
  await rounds(7);
  expect(brief()).toEqual([['firing paused']]);
  await one.service.store.queue.resume();
  await rounds(1);
  await pause(one);
  await rounds(7);
  expect(brief()).toEqual([]);
});

test('one process of two posts, and another goes on after it: it repeats nothing, and forgets nothing', async () => {
  const [one, two] = [await started('one'), await started('two')];
  await pause(two);
  await rounds(7);
  expect(news()).toMatchObject([{ text: expect.stringMatching(/^✕ one:/) }]);
  await one.service.stop();
  await two.service.store.queue.resume();
  await rounds(3);
  expect(got).toEqual([]);
  await rounds(2);
  expect(news()).toMatchObject([
    { status: 'resolved', fault: 'paused', text: expect.stringMatching(/^✓ two:/) },
  ]);
  await two.service.stop();
  const again = await started('two');
  await pause(again);
  await rounds(7);
  expect(brief()).toEqual([['firing paused']]);
});

test('each process posts that it cannot use the store after half a minute, once, and when it can again', async () => {
  const store = new Breakable();
  const one = await started('one', store.wrap);
  await rounds(1);
  clock.leap(clock.now() + 60_000); // the process stood still
  await one.api('/stats');
  await rounds(1);
  store.failure = new KitError('STORE_UNAVAILABLE', 'the store cannot do this now: connect ECONNREFUSED');
  await rounds(2);
  expect(got).toEqual([]);
  await rounds(8);
  const text = expect.stringContaining(
    'for half a minute: the store cannot do this now: connect ECONNREFUSED',
  );
  expect(news()).toMatchObject([{ status: 'firing', fault: 'cannot_record', faults: [{ of: 'one', text }] }]);
  store.failure = undefined;
  await rounds(6);
  expect(brief()).toEqual([['resolved cannot_record one']]);
});

test('a post that is refused or redirected is tried again a minute later, and the log says so, without the URL', async () => {
  const one = await started();
  await pause(one);
  answer = [500, ''];
  await rounds(6);
  answer = [302, '/elsewhere'];
  await rounds(6);
  expect(new Set(got.map((post) => post.url))).toEqual(new Set([SECRET_PATH]));
  expect(got.splice(0)).toHaveLength(2);
  answer = [204, ''];
  await rounds(6);
  expect(brief()).toEqual([['firing paused']]);
  const lines = one.log.withMessage('an alert was not posted; trying again in a minute');
  expect(lines.map(({ error }) => error)).toEqual(['the answer was 500', 'the answer was 302']);
  const pages = await Promise.all(['/', '/api/stats', '/metrics'].map((path) => one.raw(path)));
  for (const told of [...one.log.lines, ...pages.map(({ body }) => body)])
    expect(told).not.toContain('hunter2');
});

test('nothing in what others wrote is a link, a mention or a line of its own', async () => {
  const one = await started();
  await pause(one, '<!channel> & @all [a](http://b.example) WWW.c.example\n✓ one: over');
  await rounds(1);
  const { text, faults } = present(news()[0]);
  expect(text).toContain(
    '&lt;!channel&gt; &amp; @\u200ball [a]\u200b(http:\u200b//b.example) WWW\u200b.c.example\\n✓',
  );
  expect(faults[0].text).toContain('<!channel> & @all');
});
