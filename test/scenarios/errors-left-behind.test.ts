import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { type Line, ndjson } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { present } from '../support/only.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

const LEFT = 'a handler left an error behind';
const EXITED = 'process.exit() was called; all acknowledged notifications are on disk';
const CRASHED = 'crashed; all acknowledged notifications are on disk';
/** A fault of the program's own, on demand. */
const FAULT = "process.on('SIGCONT',()=>void(Promise.reject()))";

const database = databaseForEachTest();
let store: EventStore;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  store = await database().open();
  env = {
    ...database().env,
    HANDLERS: join(import.meta.dirname, 'handlers/leaving.ts'),
    LEASE_MS: '500',
    RETRY_MAX_ATTEMPTS: '1',
    HANDLER_TIMEOUT_MS: '200',
    SHUTDOWN_GRACE_MS: '0',
  };
});

const record = async (media_id: string, at = EVENT_TIME) =>
  (await store.queue.record(verified({ media_id, at }))).id;
const statusOf = async (id: string) => present(await store.queue.event({ id })).status;
/** Waits until the lease of an event without attempts left is over: the next process to recover leases ends it as dead. */
const isGivenUp = (id: string) =>
  eventually('it is given up', async () => {
    await store.queue.recover({ held: [], maxAttempts: 1 });
    return (await statusOf(id)) === 'dead';
  });

function linesOf(output: string, msg: string): Line[] {
  const all = output.split('\n').filter((line) => line.startsWith('{'));
  return ndjson(all.join('\n')).filter((line) => line.msg === msg);
}

test('the server goes on, when a handler leaves an error behind, names its event, or where it is from beside any, and handles others', async () => {
  const left = {
    timer: 'Error: left in a timer: the cause of it\n',
    nothing: 'undefined',
    'awaited-by-nobody': 'Error: left in a step\n',
    listener: 'Error: left in a listener\n',
  };
  const ids = new Map<string, string>();
  for (const media of Object.keys(left)) ids.set(media, await record(media));
  const server = await startProcess(env);
  const errors = () => linesOf(server.output(), LEFT);
  for (const [media, error] of Object.entries(left)) {
    const line = () => errors().find(({ event }) => event === ids.get(media));
    await eventually(`the error of ${media} is told of`, () => line() !== undefined);
    expect(line()).toMatchObject({ kind: 'media_available', resource: `media:${media}`, attempt: 1 });
    expect(line()?.error?.startsWith(error)).toBe(true);
  }
  await record('shared', EVENT_TIME + 1);
  const ofNone = () => errors().find(({ event }) => event === undefined);
  await eventually('the error of no event is told of', () => ofNone() !== undefined);
  expect(ofNone()?.error).toMatch(/^Error: left in what is shared\n *at .*leaving\.ts:\d+/);

  const next = await record('good', EVENT_TIME + 2);
  await eventually('others are handled', async () => (await statusOf(next)) === 'handled');
  await server.stop();
});

test('the server says so, exits with 1 and has used the attempt up, when a handler calls process.exit(0)', async () => {
  const id = await record('exit');
  const { exited, output } = await startProcess(env);
  expect(await exited).toBe(1);
  const error = expect.stringMatching(/\/leaving\.ts:\d+:\d+/);
  expect(linesOf(output(), EXITED)).toMatchObject([{ event: id, attempt: 1, error }]);
  await isGivenUp(id);
  expect(await store.queue.attempts({ id })).toMatchObject([{ outcome: 'lost' }]);
});

test('the server exits with 1, when an error is left behind that is of no handler', async () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${FAULT}`;
  const { child, exited, output } = await startProcess({ ...env, NODE_OPTIONS });
  child.kill('SIGCONT');
  expect(await exited).toBe(1);
  expect(linesOf(output(), CRASHED)).toMatchObject([{ error: 'undefined' }]);
});

test('the server names the line of a handler that holds up the event loop, and goes on, with how long that was', async () => {
  const GO_ON = join(await temporaryDirectory(), 'go-on');
  const { output, stop } = await startProcess({
    ...env,
    LEASE_MS: '60000',
    HANDLER_TIMEOUT_MS: '60000',
    GO_ON,
  });
  const id = await record('blocking');
  const stands = /the event loop has stood still for 5 s\n( {4}at .*leaving\.ts:\d+:\d+\)?)\n/;
  await eventually('it says so meanwhile', () => stands.test(output()));
  writeFileSync(GO_ON, '');
  await eventually('the event is handled', async () => (await statusOf(id)) === 'handled');
  const told = () => linesOf(output(), 'the event loop stood still');
  await eventually('it says so afterwards', () => told().length > 0);
  expect(told()).toMatchObject([{ where: expect.stringContaining('leaving.ts') }]);
  expect(told()[0]?.ms).toBeGreaterThan(5000);
  await stop();
});
