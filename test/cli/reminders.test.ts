import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { claims, HANDLED, settleAll } from '../support/claiming.ts';
import { deskForEachTest, ndjson } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { only } from '../support/only.ts';
import { callCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();
const HANDLERS = join(import.meta.dirname, 'handlers/reminding.ts');
const DUE = { name: 'publish', at: 0, data: '{"page":1}' };
const AHEAD = { name: 'close', at: Date.UTC(2100), data: '{"n":1}' };
const DIGEST = { resource: 'schedule:digest', data: '{"every":3600000}' };

const run = (command: string) => callCli(command.split(' '), { env: { ...desk().env, HANDLERS } });
const json = async (command: string) => JSON.parse((await run(`${command} --json`)).stdout);
const kinds = async (command: string) => ndjson((await run(command)).stdout).map(({ kind }) => kind);

/** A notification that has set two reminders, of which one is an event by now, and a tick of a schedule. Both are handled. */
async function past(): Promise<EventStore> {
  const store = await desk().store();
  await store.queue.record(verified({ media_id: 'm1' }));
  const reminders = [DUE, AHEAD];
  for (const claim of await claims(store)) await store.queue.settle(claim, { ...HANDLED, reminders });
  await store.queue.schedule({ list: [DIGEST] });
  const soon = (table: string) => `UPDATE ${table} SET due_at = 0 WHERE name = ''`;
  await desk().database.execute({ sqlite: soon('reminders'), postgres: soon('hookkit.reminders') });
  await store.queue.comeDue({ schedules: [DIGEST] });
  await settleAll(store, HANDLED);
  return store;
}

const one = async (store: EventStore, kind: string) => only(await eventsIn(store, { kind })).id;

test('the handlers of reminders and schedules are listed and checked, and a run tells the reminders that it sets and forgets', async () => {
  const listed = (await run('handlers')).stdout;
  expect(listed).toMatch(/^reminder +yes +search$/m);
  expect(listed).toMatch(/^schedule:report +0 6 \* \* \* Europe\/Berlin, next 2\S+T0[45]:00:00.000Z$/m);
  expect(await json('handlers')).toContainEqual({
    kind: 'schedule:digest',
    handler: true,
    subscribers: [],
    times: 'every 1h',
    next_at: expect.stringMatching(/:00:00.000Z$/),
  });
  const elsewhere = desk().write('app.mjs', `export { app } from ${JSON.stringify(HANDLERS)};`); // with no types to check
  const checked = await callCli(['handlers', 'check', '--json'], { env: { HANDLERS: elsewhere } });
  const { findings }: { findings: Finding[] } = JSON.parse(checked.stdout);
  const detail = (of: string) => only(findings.filter(({ check }) => check === of)).detail;
  expect(detail('handlers')).toMatch(/1 of 13 kinds have a handler, and reminders; subscribers: search$/);
  expect(detail('schedule:digest')).toMatch(/^every 1h, next \S+:00:00.000Z$/);
  expect((await json('handlers try --kind media_available --media m1')).reminders).toEqual([
    { name: 'publish', due_at: expect.stringMatching(/^2\S+Z$/), data: { page: 1 } },
    { name: 'remove', forgotten: true },
  ]);
});

test('a stored reminder and a tick are listed by kind, shown with what is set for when, and tried by id', async () => {
  const store = await past();
  const [reminder, tick] = [await one(store, 'reminder'), await one(store, 'schedule:digest')];
  expect(await kinds('events list --json --kind reminder')).toEqual(['reminder']);
  expect(await kinds('events list --json --kind schedule:digest --kind media')).toEqual([
    'schedule:digest',
    'media_available',
  ]);
  expect(await kinds('events export')).toHaveLength(1);
  const shown = (await run(`events show ${reminder}`)).stdout;
  expect(shown).toMatch(/^origin +reminder$.*^close +2100-01-01T00:00:00.000Z +\{"n":1\}$/ms);
  expect((await run(`events show ${await one(store, 'media_available')}`)).stdout).not.toMatch(/^origin/m);
  expect((await run('state show media:m1')).stdout).toMatch(/has no state\n\nreminder .*^close +2100/ms);
  expect((await json('state show media:m1')).reminders).toMatchObject([{ name: 'close', data: { n: 1 } }]);
  const state = { set: { publish: { page: 1 } }, deleted: [] };
  expect(await json(`handlers try ${reminder}`)).toMatchObject({ outcome: 'handled', state });
  expect(await json(`handlers try ${tick}`)).toMatchObject({ kind: 'schedule:digest', outcome: 'handled' });
  const [schedule] = (await json('status')).schedules;
  expect(schedule).toMatchObject({ name: 'digest', last_event: tick, last_status: 'handled' });
  const { last_at: at, next_at: next } = schedule;
  expect((await run('status')).stdout).toContain(`schedule   digest: last ${at}, next ${next}\n`);
});

test('a subscriber gets no notifications of a kind named reminder, though it handles its own reminders', async () => {
  const store = await desk().store();
  await store.queue.record(verified({ event: 'reminder' }));
  expect(await json('subscribers start search --since 2020-01-01')).toMatchObject({ events: 0 });
  expect((await json('subscribers'))[0].kinds).toEqual(['media_available']);
});
