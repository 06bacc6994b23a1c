import { expect, jest, test } from '@jest/globals';
import { kindNames } from '../../src/notification/kinds.ts';
import { doSteps, HANDLED } from '../support/claiming.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { commandsOf } from '../support/manual.ts';
import { only } from '../support/only.ts';
import { type CliOptions, runCli } from '../support/run-cli.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

const run = (args: readonly string[], options: CliOptions = {}) =>
  runCli(['handlers', ...args], { ...options, env: { ...desk().env, ...options.env } });

test('tells of each kind whether it has a handler, as a table and as JSON', async () => {
  const options = { env: desk().absent };
  const { code, stdout } = await run([], options);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^media_created +yes$/m);
  expect(stdout).toMatch(/^unknown +none: ends as skipped$/m);
  expect(JSON.parse((await run(['--json'], options)).stdout)).toEqual([
    ...kindNames.map((kind) => expect.objectContaining({ kind, handler: true })),
    { kind: 'unknown', ids: [], handler: false },
  ]);
});

test('runs the handler for a notification that is made up, without any database', async () => {
  const { code, stdout, stderr } = await run(['try', '--kind', 'media_available', '--media', 'UUhbHm6C']);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^media_available of media:UUhbHm6C, event \S+\nstep announce: ran\nhandled \(\d+ ms\)\n$/,
  );
  expect(stderr).toContain('media can be published: announcing it');
});

test('tells the handler what it is asked to, and how it ended as JSON', async () => {
  const args = [
    'try',
    '--kind',
    'channel_idle',
    '--channel',
    'Ny05CEfj',
    '--late',
    '--attempt',
    '3',
    '--json',
  ];
  const { code, stdout, stderr } = await run(args);
  expect({ code, ended: JSON.parse(stdout) }).toEqual({
    code: 0,
    ended: {
      id: expect.any(String),
      kind: 'channel_idle',
      resource: 'channel:Ny05CEfj',
      outcome: 'skip',
      reason: expect.any(String),
      after_ms: null,
      duration_ms: expect.any(Number),
      steps: [],
      state: { set: {}, deleted: [] },
    },
  });
  expect(stderr).toBe('');
});

test('takes a body from a file or stdin as a receiver would, and fails where the handler could not have it', async () => {
  const body = JSON.stringify({ event: 'media_available', media_id: 'UUhbHm6C' });
  const broken = await run(['try', '--body', '-'], { stdin: body });
  expect(broken).toMatchObject({ code: 1, stderr: 'hookkit: the handler did not succeed\n' });
  expect(broken.stdout).toMatch(/^failed for good \(\d+ ms\): invalid payload: webhook_id: /m);
  const unknown = await run(['try', '--body', desk().write('body.json', '{"event":"media_renamed"}')]);
  expect(unknown).toMatchObject({ code: 0 });
  expect(unknown.stdout).toMatch(/^skipped \(\d+ ms\): unknown kind "media_renamed"$/m);
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
  expect(again.stderr).toContain('"announcedAt":"2026-01-01T00:00:00.000Z"');

  const anew = await run(['try', before.id, '--reset-steps', '--json']);
  expect(JSON.parse(anew.stdout)).toMatchObject({
    outcome: 'handled',
    steps: [{ name: 'announce', ran: true }],
  });

  expect(await store.event(before.id)).toEqual(before);
  expect(await store.attempts(before.id)).toEqual(history);
  expect(await store.step(before, 'announce')).toEqual({
    result: '{"announcedAt":"2026-01-01T00:00:00.000Z"}',
  });
});

test('runs nothing, when the body of the event was removed', async () => {
  await desk().fill(1);
  const store = await desk().store();
  await store.prune(Date.now() + 1000, 10);
  const { id } = only(await eventsIn(store, {}, 1));
  expect(await run(['try', id])).toEqual({
    code: 1,
    stdout: '',
    stderr: `hookkit: the body of event ${id} was removed by retention or events prune\n`,
  });
});

test.each([
  [[], 'give either --kind with its ids, or --body'],
  [['--kind', 'media_available'], 'media_available needs --media'],
  [
    ['--kind', 'media_available', '--media', 'm', '--body', 'f'],
    'give either --kind with its ids, or --body',
  ],
  [['--body', 'none.json'], 'cannot read the body: ENOENT'],
  [
    ['loyw3uqg-0123456789abcdef0123', '--kind', 'media_created'],
    'give either the id of an event, or the options',
  ],
  [['a\u001b[2Jb'], 'a\\u001b[2Jb is not the id of an event'],
  [['loyw3uqg-0123456789abcdef0123'], 'there is no database at '],
  [['--kind', 'media_renamed'], 'It must be one of media_created'],
  [
    ['--attempt', '0', '--kind', 'media_created', '--media', 'm'],
    'It must be a whole number from 1 to 1000000000',
  ],
])('runs nothing and says why, when asked to try %j', async (args, message) => {
  const { code, stdout, stderr } = await run(['try', ...args], { env: desk().absent });
  expect(stdout).toBe('');
  expect(stderr).toContain(message);
  expect(code).toBe(message.startsWith('there is no database') ? 1 : 2);
});

test('runs nothing, when the body is not one that a receiver takes', async () => {
  const { code, stderr } = await run(['try', '--body', '-'], { stdin: '["no object"]' });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'hookkit: a receiver refuses this body with 400 (not a JSON object in UTF-8)\n',
  });
});

test('does what docs/handlers.md says, when its commands are typed as they stand there', async () => {
  const commands = commandsOf('handlers.md', 'Try one');
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const [npx, hookkit, handlers, ...args] = command.split(' ');
    expect([npx, hookkit, handlers]).toEqual(['npx', 'hookkit', 'handlers']);
    expect(await run(args)).toMatchObject({ code: 0 });
  }
});
