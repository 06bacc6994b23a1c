import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { kindNames } from '../../src/notification/kinds.ts';
import { claims, DEAD, doSteps, HANDLED, SKIPPED, waiting } from '../support/claiming.ts';
import { testOfFiles } from '../support/engine.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { commandsOf } from '../support/manual.ts';
import { only, present } from '../support/only.ts';
import { type CliOptions, runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

const run = (args: readonly string[], options: CliOptions = {}) =>
  runCli(['handlers', ...args], { ...options, env: { ...desk().env, ...options.env } });

const samples = fileURLToPath(new URL('../../src/demo/handlers.ts', import.meta.url));

/** What the list says of one kind, as JSON. */
async function listed(kind: string, options: CliOptions = {}) {
  const { code, stdout, stderr } = await run(['--json'], options);
  expect(code).toBe(0);
  const entry = JSON.parse(stdout).find((one: { kind: string }) => one.kind === kind);
  return { ...entry, stderr };
}

test('tells for each kind where its handler is, as a table and as JSON', async () => {
  const options = { env: desk().absent };
  const { code, stdout } = await run([], options);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^unknown +none: ends as skipped +- +- +- +-$/m);
  const all = JSON.parse((await run(['--json'], options)).stdout);
  expect(all).toEqual([
    ...kindNames.map((kind) =>
      expect.objectContaining({ kind, handler: true, file: samples, last_hour: null }),
    ),
    expect.objectContaining({ kind: 'unknown', ids: [], handler: false, file: null, line: null }),
  ]);
  const source = readFileSync(samples, 'utf8').split('\n');
  for (const { kind, line, column } of all.slice(0, -1)) {
    expect(source[line - 1]?.slice(0, column - 1)).toMatch(new RegExp(`\\b${kind}$`));
    expect(stdout).toMatch(new RegExp(`^${kind} .*demo/handlers\\.ts:${line} `, 'm'));
  }
});

test('tells no place, when a function is in no file, and that of a function of another file', async () => {
  desk().write('other.mjs', '\n\nexport const created = () => {};\n');
  const text =
    "import { created } from './other.mjs';\nexport const handlers = { media_created: created, media_deleted: created.bind(1) };\n";
  const env = { HANDLERS: desk().write('index.mjs', text) };
  const there = { handler: true, file: desk().path('other.mjs'), line: 3 };
  expect(await listed('media_created', { env })).toMatchObject(there);
  expect(await listed('media_deleted', { env })).toMatchObject({ handler: true, file: null, line: null });
  expect((await run([], { env })).stdout).toMatch(/^media_deleted +yes /m);
});

test('tells how each handler fared with what came within the last hour, when there is a database', async () => {
  await desk().fill(3); // long ago
  const store = await desk().store();
  for (const number of [1, 2, 3, 4])
    await store.record(verified({ at: Date.now(), media_id: `new${number}` }));
  await store.record(verified({ at: Date.now(), media_id: 'odd', event: 'media_renamed' }));
  const settlements = [HANDLED, SKIPPED, DEAD, waiting(60_000)];
  const claimed = (await claims(store)).filter(({ kind }) => kind === 'media_available');
  expect(claimed).toHaveLength(4);
  for (const [index, claim] of claimed.entries())
    await store.settle(claim, 'one', present(settlements[index]));

  const figures = { handled: 1, skipped: 1, failed_attempts: 2, dead: 1 };
  expect(await listed('media_available')).toMatchObject({ last_hour: figures });
  const none = { handled: 0, skipped: 0, failed_attempts: 0, dead: 0 };
  expect(await listed('media_created')).toMatchObject({ last_hour: none, stderr: '' });
  expect((await run([])).stdout).toMatch(/^media_available .*:\d+ +1 +1 +2 +1$/m);
});

testOfFiles(
  'lists the handlers all the same and leaves the database as it is, when that is broken, former or newer',
  async () => {
    const path = desk().write(
      'receiver.db',
      'no database at all, but long enough to be taken for one'.repeat(100),
    );
    const before = readFileSync(path);
    const broken = await listed('media_created');
    expect(broken).toMatchObject({ handler: true, last_hour: null });
    expect(broken.stderr).toMatch(/^without the figures of the last hour: .+/);
    expect(readFileSync(path)).toEqual(before);

    rmSync(path);
    await desk().fill(1);
    const db = new Database(path);
    for (const version of [8, 99]) {
      db.pragma(`user_version = ${version}`);
      const other = await listed('media_created');
      expect(other).toMatchObject({ last_hour: null });
      expect(other.stderr).toContain(`schema version ${version}`);
      expect(db.pragma('user_version', { simple: true })).toBe(version);
    }
    db.close();
  },
);

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
  const { id } = only(await store.events({}, { limit: 1 }));
  await store.replay({});
  await doSteps(store, id, { announce: '{"announcedAt":"2026-01-01T00:00:00.000Z"}' }, HANDLED);
  const before = only(await store.events({}, { limit: 1 }));
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
  expect(await store.step(before.id, 'announce')).toEqual({
    result: '{"announcedAt":"2026-01-01T00:00:00.000Z"}',
  });
});

test('shows the code around the place that an error comes from, and what its causes say, when the handler throws', async () => {
  const handlers = desk().write(
    'broken.mjs',
    [
      'export const handlers = {',
      '  async media_created(event) {',
      "    const cause = new Error('nobody\\u001b[2J answers');",
      '    throw new RangeError(event.media_id, { cause });',
      '  },',
      '};',
    ].join('\n'),
  );
  const args = ['try', '--kind', 'media_created', '--media', 'UUhbHm6C'];
  const { code, stdout, stderr } = await run(args, { env: { HANDLERS: handlers } });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^failed, to run again .*RangeError: UUhbHm6C$/m);
  expect(stderr).toContain(
    [
      '/broken.mjs:4:11',
      "  3 |     const cause = new Error('nobody\\u001b[2J answers');",
      '> 4 |     throw new RangeError(event.media_id, { cause });',
      '    |           ^',
      '  5 |   },',
      'RangeError: UUhbHm6C',
      'caused by: Error: nobody\\u001b[2J answers',
    ].join('\n'),
  );
});

test('runs nothing, when the body of the event was removed', async () => {
  await desk().fill(1);
  const store = await desk().store();
  await store.prune(Date.now() + 1000, 10);
  const { id } = only(await store.events({}, { limit: 1 }));
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
    stderr: 'hookkit: a receiver refuses this body with 400 (not a JSON object)\n',
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
