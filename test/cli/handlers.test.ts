import { expect, jest, test } from '@jest/globals';
import { kindNames } from '../../src/notification/kinds.ts';
import { doSteps, HANDLED } from '../support/claiming.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { commandsOf } from '../support/manual.ts';
import { only } from '../support/only.ts';
import { type CliOptions, callCli } from '../support/run-cli.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

const run = (args: readonly string[], options: CliOptions = {}) =>
  callCli(['handlers', ...args], {
    ...options,
    env: { ...desk().env, ...options.env },
  });

test('tells of each kind whether it has a handler, as a table and as JSON', async () => {
  const options = { env: { DATABASE_URL: `sqlite:${desk().path('absent.db')}` } };
  const { code, stdout } = await run([], options);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^media_created +yes[\s\S]*^unknown +none: ends as skipped$/m);
  expect(JSON.parse((await run(['--json'], options)).stdout)).toEqual([
    ...kindNames.map((kind) => expect.objectContaining({ kind, handler: true })),
    { kind: 'unknown', handler: false },
  ]);
});

test('takes a body from a file or stdin as a receiver would, and fails where the handler could not have it', async () => {
  const body = JSON.stringify({ event: 'media_available', media_id: 'UUhbHm6C' });
  const broken = await run(['try', '--body', '-'], { stdin: body });
  expect(broken).toMatchObject({ code: 1, stderr: 'hookkit: the handler did not succeed\n' });
  expect(broken.stdout).toMatch(/^outcome +dead\nreason +invalid payload: webhook_id: /m);
  const unknown = await run(['try', '--body', desk().write('body.json', '{"event":"media_renamed"}')]);
  expect(unknown).toMatchObject({ code: 0 });
  expect(unknown.stdout).toMatch(/^outcome +skip\nreason +unknown kind "media_renamed"$/m);
});

test('runs the handler for a stored event, uses the results of its steps, and leaves no trace', async () => {
  await desk().fill(1);
  const store = await desk().store();
  const { id } = only(await eventsIn(store, {}, 1));
  await store.replay({});
  await doSteps(store, id, { announce: '{"announcedAt":"2026-01-01T00:00:00.000Z"}' }, HANDLED);
  const before = only(await eventsIn(store, {}, 1));
  const history = await store.attempts(before.id);

  const again = await run(['try', before.id, '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({
    id: before.id,
    outcome: 'handled',
    steps: [{ name: 'announce', ran: false }],
  });
  const anew = await run(['try', before.id, '--reset-steps', '--json']);
  expect(JSON.parse(anew.stdout).steps).toMatchObject([{ name: 'announce', ran: true }]);

  expect(await store.event(before.id)).toEqual(before);
  expect(await store.attempts(before.id)).toEqual(history);
  expect(await store.steps(before.id)).toEqual([
    { name: 'announce', result: '{"announcedAt":"2026-01-01T00:00:00.000Z"}' },
  ]);
});

test('an endless loop ends a try with its event and line, when no debugger is there to hold it up', async () => {
  const wait = (ms: number) => `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms})`;
  const handlers = { endless: `for (;;) ${wait(50)}`, held: wait(8000) };
  const runs = Object.entries(handlers).map(([name, text]) => {
    const debugged = name === 'held' ? "(await import('node:inspector')).open(0, '127.0.0.1');" : '';
    const file = `${debugged}\nexport const handlers = { media_deleted() {\n${text};\n} };`;
    return run(['try', '--kind', 'media_deleted', '--media', 'm1'], {
      env: { HANDLERS: desk().write(`${name}.mjs`, file) },
    });
  });
  const [endless, inspected] = await Promise.all(runs);
  expect(endless).toMatchObject({ code: 1, stdout: '' });
  expect(endless?.stderr).toMatch(/at media_deleted \(.*\/endless\.mjs:3:\d+\)\n.*media_deleted of media:m1/);
  expect(inspected).toMatchObject({ code: 0 });
});

test('does what docs/handlers.md says, when its commands are typed as they stand there', async () => {
  for (const command of commandsOf('handlers.md', 'Try one', 2)) {
    const { code, stdout } = await run(command.replace('npx hookkit handlers ', '').split(' '));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^resource +\w+:\w+\noutcome +(handled|skip)$/m);
  }
});
