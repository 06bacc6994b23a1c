import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { handlers as samples } from '../../../src/demo/handlers.ts';
import { parseLine } from '../../../src/replay/recording-lines.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { HANDLED, settleAll } from '../../support/claiming.ts';
import { openAsOther } from '../../support/engine.ts';
import { ndjson, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { inspectedForEachTest } from '../../support/inspected-service.ts';
import { type Installation, install } from '../../support/installation.ts';
import { commandsOf, gapsOf, textOf } from '../../support/manual.ts';
import { present } from '../../support/only.ts';
import { type Operator, settledOperator } from '../../support/operator.ts';
import { runService } from '../../support/running-service.ts';
import { verified } from '../../support/verified-notification.ts';

const NOON = Date.UTC(2026, 10, 19, 12);

const inspect = inspectedForEachTest();
let installation: Installation;
let qa: Operator;
const stores: EventStore[] = [];
beforeEach(async () => {
  installation = await install();
  qa = await settledOperator(installation);
});
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await installation.dispose();
});

const commands = (section: string, count: number) => commandsOf('replay.md', section, count);

const databaseOf = ({ directory }: Operator) => join(directory, 'data', 'receiver.db');

/** A server on the database of QA, in this process: of most sections, what is typed beside it is the point. */
async function serve(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const own = { DATABASE_URL: `sqlite:${databaseOf(qa)}`, PORT: new URL(qa.url).port, WEBHOOK_SECRET: '' };
  await runService(samples, { ...own, ...env });
}

async function database(operator = qa): Promise<EventStore> {
  const store = await openAsOther(`sqlite:${databaseOf(operator)}`);
  stores.push(store);
  return store;
}

/** What production has: events of one webhook on a day, media and channels, every hour; one of them dead. */
async function production(
  operator = qa,
  first = NOON - 6 * 3_600_000,
  gapMs = 3_600_000,
): Promise<EventStore> {
  const store = await database(operator);
  await store.secrets.add('2yW4KmiG', SECRET);
  for (let number = 0; number < 12; number++) {
    const at = first + number * gapMs;
    const common = { at, webhook_id: '2yW4KmiG', site_id: '9KboGBFu' };
    const media = verified({ ...common, event: 'media_updated', media_id: 'UUhbHm6C' });
    const event = number % 4 < 2 ? 'channel_active' : 'channel_idle';
    const channel = verified({ ...common, event, channel_id: `Ny05CE${number % 2}x`, media_id: undefined });
    await store.queue.record(media, at + 400);
    await store.queue.record(channel, at + 500);
  }
  await settleAll(store, HANDLED);
  return store;
}

function file(name: string, operator = qa): string {
  return readFileSync(join(operator.directory, name), 'utf8');
}

/** The table that a replay over HTTP ends with. */
function answersOf({ stdout }: { stdout: string }): Record<string, number> {
  const rows = stdout.trim().split('\n').slice(2);
  return Object.fromEntries(rows.map((row) => [row.split(/ {2,}/)[0], Number(row.split(/ {2,}/)[1])]));
}

test('shows what was received, when looked at as written', async () => {
  const [dead = '', channels = '', media = ''] = commands('Look at what was received', 3);
  const recent = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;
  await production(qa, recent, 1000);
  expect((await qa.type(dead)).stderr).toBe('no events\n');
  expect((await qa.type(channels)).stdout.match(/channel:Ny05CE/g)).toHaveLength(12);
  expect(ndjson((await qa.type(media)).stdout)).toHaveLength(12);
});

test('handles the channel events of an afternoon again, and no others, when replayed as written while the server runs', async () => {
  const [dryRun = '', replay = ''] = commands('Handle events again', 2);
  const store = await production();
  await serve();
  expect((await qa.type(dryRun)).stdout).toBe('6 events would be replayed\n');
  await qa.type(replay);
  await eventually(
    'all have ended again',
    async () => (await store.queue.count({ status: 'pending' })) === 0,
  );
  const events = await eventsIn(store, {}, 100);
  const again = events.filter(({ replays }) => replays > 0);
  expect(again).toHaveLength(6);
  for (const { kind, eventTime } of again) {
    expect(kind).toMatch(/^channel_/);
    expect(eventTime).toBeGreaterThanOrEqual(NOON);
    expect(eventTime).toBeLessThan(NOON + 6 * 3_600_000);
  }
});

test('plays what production recorded on another machine, again and again, when done as written', async () => {
  const [exporting = '', makeSecret = '', importing = '', play = '', playAsNew = '', playHard = ''] =
    commands('Play a recording of production on your machine', 6);
  const host = await settledOperator(installation, 'production');
  await production(host);
  await host.type(exporting);
  writeFileSync(join(qa.directory, 'production.ndjson'), file('production.ndjson', host));
  expect(ndjson(file('production.ndjson'))).toHaveLength(24);

  await serve();
  await qa.type(makeSecret);
  await qa.type(importing);
  expect(answersOf(await qa.type(play))).toEqual({ accepted: 24 });
  expect(answersOf(await qa.type(play))).toEqual({ duplicate: 24 });
  expect(answersOf(await qa.type(playAsNew))).toEqual({ accepted: 24 });
  const store = await database();
  const hard = answersOf(await qa.type(playHard));
  expect((hard.accepted ?? 0) + (hard.duplicate ?? 0)).toBeGreaterThan(24);
  expect(await store.queue.count({})).toBe(48 + (hard.accepted ?? 0));
});

/** A receiver elsewhere, of which QA has the token to read. */
async function colleague() {
  const tokens = { ADMIN_TOKEN: 'the-token-of-operators', ADMIN_READ_TOKEN: 'the-token-of-readers' };
  const host = await inspect({}, tokens);
  qa.here.set('https://hooks.example.com', host.url);
  writeFileSync(join(qa.directory, 'token.txt'), 'the-token-of-readers');
  return host;
}

test('shows what production received, and sends it on to a receiver here, when typed as written', async () => {
  const [show = '', record = '', sendOn = ''] = commands('Listen', 3);
  const host = await colleague();
  qa.configure({ WEBHOOK_SECRET: 'of our own' });
  await serve({ WEBHOOK_SECRET: 'of our own' });
  const bodies = ['one', 'two', 'three'].map((media_id) => verified({ media_id }));
  for (const body of bodies) await host.service.store.queue.record(body);
  expect((await qa.type(`${show} --limit 3`)).stdout.match(/media:\w+/g)).toHaveLength(3);
  await qa.type(record.replace('--json', '--limit 3 --json'));
  expect(ndjson(file('hours.ndjson')).map(({ body }) => body)).toEqual(bodies.map(({ body }) => body));
  expect((await qa.type(`${sendOn} --after start --limit 2`)).stdout.match(/accepted/g)).toHaveLength(2);
  expect((await qa.type(`${sendOn} --limit 1`)).stdout).toMatch(/media:three {2}accepted/);
  expect(await (await database()).queue.count({})).toBe(3);
});

test('keeps a day as a check that fails once an end differs, when done as written', async () => {
  const [listen = '', update = '', check = '', again = '', cut = '', crash = ''] = commands(
    'Keep a day as a check',
    6,
  );
  const host = await colleague();
  const events = ['media_created', 'media_available', 'media_updated', 'media_deleted', 'channel_idle'];
  for (const event of events) await host.service.store.queue.record(verified({ event, channel_id: 'c1' }));
  await qa.type(listen.replace('--json', '--limit 5 --json'));
  for (const command of [update, check, again, cut]) await qa.type(command);
  expect((await qa.type(crash)).stderr).toContain('each point at which the process can die');
  const day = file('day.ndjson').replace('"expect":{"status":"handled"', '"expect":{"status":"skipped"');
  writeFileSync(join(qa.directory, 'day.ndjson'), day);
  expect((await qa.type(check, { code: 1 })).stdout).toMatch(/^line 1: .*\n {2}expected {2}/);
  expect(file('junit.xml')).toContain('tests="5" failures="1"');
});

test('handles everything again and waits for the ends, when run as written', async () => {
  const [run = '', expecting = ''] = commands('Wait for the ends', 2);
  await production();
  qa.configure({ LOG_LEVEL: 'error' });
  expect((await qa.type(run)).stdout).toMatch(/handled +24\n$/);
  expect((await qa.type(expecting)).stdout).toMatch(/handled +24\n$/);
});

test('shares a recording that has none of the ids and still replays, when made as written', async () => {
  const [makeKey = '', exporting = '', play = ''] = commands('Share a recording without ids', 3);
  await production();
  await qa.type(makeKey);
  await qa.type(exporting);
  const shared = file('shared.ndjson');
  for (const id of ['UUhbHm6C', 'Ny05CE', '2yW4KmiG', '9KboGBFu']) expect(shared).not.toContain(id);

  writeFileSync(join(qa.directory, 'webhook-secret.txt'), SECRET);
  await serve({ WEBHOOK_SECRET: SECRET });
  expect(answersOf(await qa.type(play))).toEqual({ accepted: 24 });
});

test('sends last week again as new, ten times faster, when a receiver is loaded as written', async () => {
  const [load = ''] = commands('Load a receiver with recorded traffic', 1);
  const recent = Math.floor(Date.now() / 1000) * 1000 - 60_000;
  const store = await production(qa, recent, 1000);
  await serve();
  const began = performance.now();
  expect(answersOf(await qa.type(load))).toEqual({ accepted: 24 });
  expect(performance.now() - began).toBeGreaterThan(1100);
  expect(await store.queue.count({})).toBe(48);
});

test('sends one notification, and is refused broken ones, when sent as written', async () => {
  const typed = commands('Send one notification', 5);
  const [media = '', thumbnail = '', forged = '', write = '', asIs = ''] = typed;
  const store = await database();
  await store.secrets.add('2yW4KmiG', SECRET);
  await serve();
  expect((await qa.type(media)).stdout).toMatch(/^status +200$/m);
  expect((await qa.type(thumbnail)).stdout).toMatch(/^status +200$/m);
  for (const fault of ['forged', 'alg-none', 'tampered', 'iat', 'oversized', 'truncated'])
    expect((await qa.type(forged.replace('forged', fault))).stdout).toMatch(/^status +4\d\d$/m);
  await qa.type(write);
  const refused = await qa.type(asIs.replace(' --as-is', ''), { code: 2 });
  expect(refused.stderr).toContain('with 400 (not a JSON object in UTF-8)');
  expect((await qa.type(asIs, { code: 1 })).stdout).toMatch(/^status +400$/m);
  expect((await eventsIn(store, {}, 10)).map(({ kind }) => kind)).toEqual([
    'thumbnail_created',
    'media_available',
  ]);
});

test('has a test of every section with commands, and leads to all sections from its list', () => {
  expect(gapsOf('replay.md', import.meta.filename)).toEqual([]);
});

test('gives an example of a recording that is what it says, when read by the program', () => {
  const [, recording] = /^```json\n(.*)\n```$/m.exec(textOf('replay.md')) ?? [];
  expect(parseLine(present(recording)).problem).toBeUndefined();
});
