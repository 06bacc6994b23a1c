import { expect, test } from '@jest/globals';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();

const run = (...args: string[]) => runCli(args, { env: desk().env, cwd: desk().directory });

/** Before 1970, so that the id of the event begins with a minus. */
async function recordEarly(at = Date.UTC(1969, 0, 1)): Promise<string> {
  const store = await desk().store();
  const { id } = await store.record(verified({ at }));
  await settleAll(store, HANDLED);
  expect(id).toMatch(/^-/);
  return id;
}

test.each([
  ['alone', (id: string) => [id]],
  ['before an option', (id: string) => [id, '--json']],
  ['behind an option', (id: string) => ['--json', id]],
  ['behind --', (id: string) => ['--json', '--', id]],
])('is taken for the id that it is, when events show and handlers try get it %s', async (_, args) => {
  const id = await recordEarly();
  for (const command of [
    ['events', 'show'],
    ['handlers', 'try'],
  ]) {
    const { code, stdout } = await run(...command, ...args(id));
    expect({ command, code, stdout }).toEqual({ command, code: 0, stdout: expect.stringContaining(id) });
  }
});

test('is taken, when it is less than a second before 1970 and looks like the shortest option', async () => {
  const id = await recordEarly(-1);
  expect(id).toMatch(/^-1-/);
  expect(await run('events', 'show', id)).toMatchObject({ code: 0, stdout: expect.stringContaining(id) });
});

test('is the value of its option, when --id or --before has it', async () => {
  const id = await recordEarly();
  const listed = await run('events', 'list', '--id', id, '--json');
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining(id) });
  expect(await run('events', 'list', '--before', id)).toMatchObject({ code: 0, stderr: 'no events\n' });
  const replayed = await run('events', 'replay', '--dry-run', '--id', id);
  expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining(id) });
});

test('does not hide an option that is unknown beside it, nor an argument too many', async () => {
  const id = await recordEarly();
  for (const [args, said] of [
    [['show', id, '--nonsense'], "unknown option '--nonsense'"],
    [['show', '--nonsense', id], "unknown option '--nonsense'"],
    [['show', id, id], 'too many arguments'],
    [['list', id], 'too many arguments'],
  ] as const) {
    const { code, stderr } = await run('events', ...args);
    expect({ args, code, stderr }).toEqual({ args, code: 2, stderr: expect.stringContaining(said) });
  }
});
