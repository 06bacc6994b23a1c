import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { EventStore } from '../../../src/store/event-store.ts';
import { doSteps, HANDLED, settleAll } from '../../support/claiming.ts';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { tokenOf } from '../../support/hs256.ts';
import { only, present } from '../../support/only.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { recordedLine } from '../../support/recorded-lines.ts';
import { startCli } from '../../support/run-cli.ts';
import { size } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

const desk = deskForEachTest();

test('changes nothing, when run dry, and shows how many it would be and the first few', async () => {
  await desk().fill(8);
  const store = await desk().store();
  await store.queue.prune({
    before: Date.now() + 1,
    limit: 1,
    among: [present((await eventsIn(store, {}, 8)).at(-1)).seq],
  });
  await store.queue.record(verified({ media_id: 'waiting', at: Date.UTC(2026, 1) }));
  const { code, stdout, stderr } = await desk().events(['replay', '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^7 events would be replayed, the first of them:\n/);
  expect(stdout.match(/media:media00\d/g)).toEqual([1, 2, 3, 4, 5].map((number) => `media:media00${number}`));
  expect(stderr).toBe(
    '1 more is pending or running, and will be handled anyway\n1 more was pruned, and cannot be replayed\n',
  );
  expect(await store.queue.count({ status: 'handled' })).toBe(8);
  const json = JSON.parse((await desk().events(['replay', '--dry-run', '--json'])).stdout);
  expect(json).toMatchObject({ dry_run: true, replayable: 7, under_way: 1, pruned: 1 });
});

test('nothing to replay is an error, unless that is allowed', async () => {
  await desk().fill(1);
  const replay = async (...more: string[]) =>
    (await desk().events(['replay', '--status', 'dead', ...more])).code;
  expect([await replay(), await replay('--dry-run', '--allow-empty')]).toEqual([1, 0]);
});

test('forgets what ctx.once has done, when told to reset steps, and keeps it otherwise', async () => {
  await desk().fill(1);
  const store = await desk().store();
  const [{ id = '' } = {}] = await eventsIn(store, {}, 1);
  await store.queue.replay({});
  await doSteps(store, id, { announce: '1' }, HANDLED);
  await desk().events(['replay', '--all']);
  expect(await store.queue.steps({ id })).toHaveLength(1);
  await settleAll(store, HANDLED);
  await desk().events(['replay', '--all', '--reset-steps']);
  expect(await store.queue.steps({ id })).toEqual([]);
});

test('runs the handlers of a subscriber for its event, and no others, when told to run it', async () => {
  const store = await desk().store();
  await store.queue.subscribe({ subscriber: 'search', kinds: ['media_available'] });
  const { id } = await store.queue.record(verified({ media_id: 'm1' }));
  await settleAll(store, HANDLED);
  await store.queue.wake({ subscriber: 'search' });
  const env = { HANDLERS: join(import.meta.dirname, '../handlers/subscribed.ts') };
  const replay = ['replay', '--id', `${id}@search`, '--run', '--json'];
  const { code, stdout } = await desk().events(replay, { env });
  expect([code, JSON.parse(stdout)]).toEqual([0, { replayed: 0, under_way: 1, handled: 1 }]);
  const resource = 'media:m1';
  const values = async (subscriber: string) =>
    (await store.queue.state({ resource, subscriber })).map(({ name }) => name);
  expect([await values(''), await values('search')]).toEqual([[], ['indexed']]);
  const again = await desk().events(replay, { env });
  expect([again.code, JSON.parse(again.stdout)]).toEqual([0, { replayed: 1, handled: 1 }]);
  const of = await store.queue.siblings({ id });
  expect(of.map(({ subscriber, replays, attempts }) => [subscriber, replays, attempts])).toEqual([
    ['', 0, 1],
    ['search', 1, 2],
  ]);
});

describe('over HTTP', () => {
  let receiver: Receiver | undefined;
  afterEach(async () => {
    await receiver?.close();
    receiver = undefined;
  });

  async function listen(answer?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
    receiver = await startReceiver(answer);
    return receiver;
  }

  test('send sends exactly the file under the secret of its webhook', async () => {
    const store = await desk().store();
    await store.secrets.add('first001', 'the-secret-of-the-first-webhook');
    await store.secrets.add('second01', SECRET);
    const { url, received } = await listen();
    const body = '{ "event": "media_renamed",\n  "webhook_id": "second01" }';
    const file = desk().write('body.json', body);
    expect(await desk().events(['send', '--body', file, '--to', url])).toMatchObject({ code: 0 });
    expect(received).toMatchObject([{ text: body, token: tokenOf(body, SECRET) }]);
  });

  test('send signs for the webhook whose secret is the newest, when several have one and no webhook is named', async () => {
    const store = await desk().store();
    await store.secrets.add('first001', 'the-secret-of-a-dev-that-was-killed');
    await store.secrets.add('second01', SECRET);
    const { url, received } = await listen();
    const one = ['--kind', 'media_created', '--media', 'm', '--to', url];
    expect(await desk().events(['send', ...one])).toMatchObject({ code: 0 });
    expect(received).toMatchObject([{ body: { webhook_id: 'second01' } }]);
    expect(received[0]?.token).toBe(tokenOf(received[0]?.text ?? '', SECRET));
  });

  test.each([
    [200, 'although it is forged'],
    [404, 'correct the path of --to'],
    [500, 'has not refused'],
  ])('send fails, when a broken notification is answered %i, which is no refusal', async (status, why) => {
    const { url } = await listen(() => ({ status }));
    const one = ['--kind', 'media_created', '--media', 'm', '--fault', 'forged', '--to', url];
    const run = await desk().events(['send', ...one], { env: { WEBHOOK_SECRET: SECRET } });
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  });

  test('tells broken lines with their numbers, when stdin has some, sends the rest as new with its gaps and ends with 1', async () => {
    const { url, received, media } = await listen();
    const lines = [recordedLine(0), 'garbage', '{"v":2}', '', recordedLine(4), recordedLine(5).slice(0, 50)];
    const args = ['replay', '--to', url, '--from', '-', '--as-new'];
    const run = await desk().events(args, { stdin: lines.join('\n'), env: { WEBHOOK_SECRET: SECRET } });
    expect(run.code).toBe(1);
    expect(run.stderr.match(/^line \d/gm)).toEqual(['line 2', 'line 3', 'line 6']);
    expect(run.stdout).toMatch(/^broken line +3$/m);
    expect(run.stdout).toMatch(/^accepted +2$/m);
    expect(media()).toEqual(['media000', 'media004']);
    const [first = 0, last = 0] = received.map(({ body }) => Date.parse(String(body.event_time)));
    expect(last - first).toBe(4000);
    expect(last).toBeGreaterThan(Date.UTC(2026, 0, 2));
  });

  test('sends nothing, when no secret is known for the webhook, and ends with 1', async () => {
    const { url, received } = await listen();
    const file = desk().write('r.ndjson', recordedLine(0));
    const run = await desk().events(['replay', '--to', url, '--from', file, '--json']);
    expect(run.code).toBe(1);
    expect(JSON.parse(run.stdout)).toEqual({ 'no secret': 1 });
    expect(received).toEqual([]);
  });
});

const MANY = size({ small: 3000, full: 6000 });

/** Whether the first event, which goes first everywhere, is reset, and whether it may run. */
async function standing(store: EventStore): Promise<'not reset' | 'held' | 'ready'> {
  const { status, nextAttemptAt } = only(
    (await store.queue.search({ filter: {}, stretch: { limit: 1 }, order: 'oldest' })).events,
  );
  if (status !== 'pending') return 'not reset';
  return nextAttemptAt === undefined ? 'ready' : 'held';
}

/** Starts a replay of everything, and gives it a signal once its first event stands so. */
async function replayUntil(wanted: 'held' | 'ready', signal: NodeJS.Signals) {
  const store = await desk().store();
  const { directory: cwd, env } = desk();
  const run = startCli(['events', 'replay', '--all'], { env, cwd });
  await eventually(`it is ${wanted}`, async () => (await standing(store)) === wanted);
  run.kill(signal);
  const ended = await run.ended;
  const events = await eventsIn(store, {}, MANY);
  const pending = events.filter(({ status }) => status === 'pending');
  const ready = pending.filter(({ nextAttemptAt }) => nextAttemptAt === undefined);
  return { store, ...ended, pending: pending.length, ready: ready.length };
}

test.each(['held', 'ready'] as const)(
  'a replay in rounds loses nothing, if killed while events are %s',
  async (wanted) => {
    await desk().fill(MANY, 50);
    const { store, pending, ready } = await replayUntil(wanted, 'SIGKILL');
    expect([pending % 500, ready % 500]).toEqual([0, 0]); // whole steps only
    if (wanted === 'held') expect(ready).toBe(0);
    else expect(pending).toBe(MANY);
    expect(ready).toBeLessThan(MANY);
    const { stdout } = await desk().events(['replay', '--all', '--json']);
    const underWay = ready > 0 ? { under_way: ready } : {};
    expect(JSON.parse(stdout)).toEqual({ replayed: MANY - ready, ...underWay });
    const events = await eventsIn(store, {}, MANY);
    expect(events.every(({ replays }) => replays === 1)).toBe(true);
    expect(events.every(({ nextAttemptAt }) => nextAttemptAt === undefined)).toBe(true);
  },
);
