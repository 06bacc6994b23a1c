import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';
import { only } from '../support/only.ts';
import { spawnCli } from '../support/run-cli.ts';
import { some } from '../support/sizes.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

/** Nothing but the clock of the kit can end it. */
const NEVER = 'new Promise(() => {})';
const UNTIL_ABORTED = "new Promise((_, reject) => signal.addEventListener('abort', reject))";

/** Runs a command in a process of its own: whether it stays is what the test is about. */
const run = (module: string, args: readonly string[]) =>
  spawnCli(args, {
    env: { ...desk().env, HANDLERS: desk().write('handlers.mjs', module), HANDLER_TIMEOUT_MS: '100' },
  });

const handling = (run: string) => `export const handlers = { media_available: (_, { signal }) => ${run} };`;
const TRY = ['handlers', 'try', '--kind', 'media_available', '--media', 'UUhbHm6C'];
const TIMED_OUT = 'the handler took longer than 100 ms';

// Each waits five seconds for a handler that ignores its signal.
test.each([
  {
    what: 'tries a made-up event',
    args: TRY,
    stdout: expect.stringMatching(/^timed out, to run again .*it went on after ctx\.signal was aborted$/m),
    stderr: 'hookkit: the handler did not succeed\n',
  },
  {
    what: 'replays an event',
    args: ['events', 'replay', '--all', '--run', '--timeout', '1s'],
    stdout: expect.any(String),
    stderr: expect.stringContaining('1 events had not ended when the time was over'),
  },
])('$what to the time limit, when the handler never ends, and fails', async ({ args, stdout, stderr }) => {
  await desk().fill(1);
  const ran = await run(handling(NEVER), args);
  expect({ code: ran.code, stdout: ran.stdout, stderr: ran.stderr }).toEqual({ code: 1, stdout, stderr });
});

test('tries a stored event to its time limit, when the handler ends only with its signal, and fails', async () => {
  await desk().fill(1);
  const { id } = only(await (await desk().store()).events({}, { limit: 1 }));
  const { code, stdout } = await run(handling(UNTIL_ABORTED), ['handlers', 'try', id]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(TIMED_OUT) });
});

test('rehearses to the time limit, when a handler ends only with its signal, and warns of it', async () => {
  const { code, stdout } = await run(handling(UNTIL_ABORTED), ['handlers', 'check', '--rehearse']);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(new RegExp(`^warn +steps +media_available: .*${TIMED_OUT}`, 'm')),
  });
});

const STUCK = [
  ['they load', `await ${NEVER}; export const handlers = {};`],
  ['their app starts', `export const app = { handlers: {}, start: () => ${NEVER} };`],
  [
    'their app closes',
    `export const app = { handlers: {}, start: () => ({ app: 1, close: () => ${NEVER} }) };`,
  ],
] as const;

test.each(some(1, STUCK))(
  'says what to look for, when handlers await what never comes while %s, and fails',
  async (_, module) => {
    const { code, stderr } = await run(module, TRY);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^hookkit: the command waits for a promise that nothing settles any more: /m,
      ),
    });
  },
);

test.each(
  some(2, [
    ['handlers check', ['handlers', 'check']],
    ['events replay --run', ['events', 'replay', '--all', '--run']],
    ['handlers check --rehearse', ['handlers', 'check', '--rehearse']],
    ['handlers try', TRY],
    ['doctor', ['doctor', '--offline']],
  ] as const),
)(
  '%s ends at the first SIGTERM, when the handlers never come to the end of their loading',
  async (_, args) => {
    await desk().fill(1);
    const HANDLERS = desk().write(
      'endless.mjs',
      "setInterval(() => {}, 1000); console.error('it loads'); await new Promise(() => {});",
    );
    const { code, stdout } = await spawnCli(args, {
      env: { ...desk().env, HANDLERS },
      onSpawn: (child) =>
        child.stderr?.on('data', (text) => {
          if (String(text).includes('it loads')) child.kill('SIGTERM');
        }),
    });
    expect(code).not.toBe(0);
    expect(stdout).not.toContain('they load');
  },
);

test('a handler that is tried decides by what becomes of its event how the command ends, not by process.exitCode', async () => {
  const { code, stdout } = await run(handling('{ process.exitCode = 7; }'), TRY);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('handled') });
});
