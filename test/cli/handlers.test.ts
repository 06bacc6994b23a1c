import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { doSteps, HANDLED } from '../support/claiming.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { eventsIn } from '../support/events-in.ts';
import { commandsOf } from '../support/manual.ts';
import { only, present } from '../support/only.ts';
import { type CliOptions, callCli, runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();

const run = (args: readonly string[], options: CliOptions = {}) =>
  callCli(['handlers', ...args], {
    ...options,
    env: { ...desk().env, ...options.env },
  });

test('takes a body from a file or stdin as a receiver would, and fails where the handler could not have it', async () => {
  const body = JSON.stringify({ event: 'media_available', media_id: 'UUhbHm6C' });
  const broken = await run(['try', '--body', '-'], { stdin: body });
  expect(broken).toMatchObject({ code: 1, stderr: 'hookkit: the handler did not succeed\n' });
  expect(broken.stdout).toMatch(/^outcome +dead\nreason +invalid payload: webhook_id: /m);
  const unknown = await run(['try', '--body', desk().write('body.json', '{"event":"media_renamed"}')]);
  expect(unknown).toMatchObject({ code: 0 });
  expect(unknown.stdout).toMatch(/^outcome +skip\nreason +no handler for unknown kind "media_renamed"$/m);
});

test('runs the handler for a stored event, uses the results of its steps, and leaves no trace', async () => {
  await desk().fill(1);
  const store = await desk().store();
  const { id } = only(await eventsIn(store, {}, 1));
  await store.queue.replay({});
  await doSteps(store, id, { announce: '{"announcedAt":"2026-01-01T00:00:00.000Z"}' }, HANDLED);
  const before = only(await eventsIn(store, {}, 1));
  const history = await store.queue.attempts({ id: before.id });

  const again = await run(['try', before.id, '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({
    id: before.id,
    outcome: 'handled',
    steps: [{ name: 'announce', ran: false }],
  });
  const anew = await run(['try', before.id, '--reset-steps', '--json']);
  expect(JSON.parse(anew.stdout).steps).toMatchObject([{ name: 'announce', ran: true }]);

  expect(await store.queue.event({ id: before.id })).toEqual(before);
  expect(await store.queue.attempts({ id: before.id })).toEqual(history);
  expect(await store.queue.steps({ id: before.id })).toEqual([
    { name: 'announce', result: '{"announcedAt":"2026-01-01T00:00:00.000Z"}' },
  ]);
});

test('an endless loop ends a try with its line, when no debugger is there to hold it up', async () => {
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
  expect(endless?.stderr).toMatch(/for 5 s\n {4}at media_deleted \(.*\/endless\.mjs:3:\d+\)\n$/);
  expect(inspected).toMatchObject({ code: 0 });
});

test('does what docs/handlers.md says, when its commands are typed as they stand there', async () => {
  for (const command of commandsOf('handlers.md', 'Try one', 2)) {
    const { code, stdout } = await run(command.replace('npx hookkit handlers ', '').split(' '));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^resource +\w+:\w+\noutcome +(handled|skip)$/m);
  }
});

describe('handlers check:', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const DOOR = join(root, 'src/index.ts');

  const fileOf = directoryForEachTest();

  /** Writes files of a project of somebody's own; the first is the module of its handlers. */
  function write(files: Readonly<Record<string, string>>): string {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(fileOf(`${name}/..`), { recursive: true });
      writeFileSync(fileOf(name), text);
    }
    return fileOf(Object.keys(files)[0]);
  }

  /** What a check finds; it must end with `code`. */
  async function checked(handlers: string, code: number, args: readonly string[] = []) {
    const run = await callCli(['handlers', 'check', '--json', ...args], { env: { HANDLERS: handlers } });
    expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code });
    const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(run.stdout);
    expect(ok).toBe(code === 0);
    return { of: (check: string) => present(findings.find((finding) => finding.check === check)) };
  }

  test('a kind without a handler is named with what to write, and the other checks go on', async () => {
    const file = write({ 'handlers.mjs': 'export const handlers = { media_created() {} };' });
    const { of } = await checked(file, 1, ['--strict']);
    expect((await checked(file, 0)).of('kinds').result).toBe('warn');
    expect(of('kinds').result).toBe('FAIL');
    expect(of('kinds').detail).toContain("media_available: () => skip('not needed here')");
  });

  test('types that do not fit are told by file and line, with the project that they are of', async () => {
    const file = write({
      'src/handlers.ts': `import type { Handlers } from '${DOOR}';\nexport const handlers: Handlers = {\n  media_created: () => true,\n};\n`,
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        include: ['src'],
        compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
      }),
    });
    expect((await checked(file, 0)).of('types').result).toBe('skipped'); // TypeScript is not installed there
    write({
      'node_modules/typescript/package.json': '{}',
      'node_modules/typescript/bin/tsc': `process.argv[1] = ${JSON.stringify(join(root, 'node_modules/typescript/bin/tsc'))};
      import(process.argv[1]);`,
    });
    const { result, detail } = (await checked(file, 1)).of('types');
    expect(result).toBe('FAIL');
    expect(detail).toMatch(/src\/handlers\.ts\(3,3\): error TS\d+: .*boolean/);
  });

  const commands = [[['events', 'replay', '--all', '--run']], [['handlers']]];
  test.each(commands)('hookkit %j ends, when the files of handlers leave a timer behind', async (args) => {
    const store = await desk().store();
    await store.queue.record(verified({ event: 'media_created' }));
    // As pools of connections and pollers have it.
    const ticking = 'setInterval(() => {}, 1000); export const handlers = { media_created() {} };';
    const env = { ...desk().env, HANDLERS: desk().write('ticking.mjs', ticking) };
    const run = await runCli(args, { env });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/./) });
  });
});
