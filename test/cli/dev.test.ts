import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { SAME_SIGNAL_MS } from '../../src/stopping.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { present } from '../support/only.ts';
import { startGroup } from '../support/process-group.ts';
import { copyProgram, ofCopies } from '../support/program-copy.ts';
import { programEnv } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(180_000); // several starts of npm and Node on a busy machine
const copy = copyProgram();
const diary = join(copy, 'diary');
writeFileSync(diary, '');

/** Runs a script of npm as a terminal does. */
function run(
  script: string,
  settings: Readonly<Record<string, string | number>>,
  args: readonly string[] = [],
) {
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  const env = { ...process.env, ...ofCopies, ...Object.fromEntries(texts) };
  return startGroup(['npm', 'run', script, '--', ...args], copy, env);
}

/** Whether a server listens there. */
async function isOpen(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Waits as long as the test has time: how long a process needs to start says nothing. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) await pause();
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

const forever =
  'await new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));';

/** Without end, and without much of a processor. */
const ENDLESS = 'while (ctx) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);';

/** Handlers that write down what they get; of media_available, the handler does something more. */
function writeHandlers(version: string, more = '', file = 'tracks.ts'): void {
  const taken = ['media_created', 'media_available'].flatMap((kind) => [
    `  async ${kind}(_event, ctx) {`,
    `    appendFileSync(${JSON.stringify(diary)}, \`${version} ${kind} \${ctx.attempt}\\n\`);`,
    `    ${kind === 'media_available' ? more : ''}`,
    '  },',
  ]);
  const lines = [
    "import { appendFileSync } from 'node:fs';",
    "import { defineHandlers } from '../index.ts';",
    'export const tracks = defineHandlers({',
    ...taken,
    '});',
  ];
  writeFileSync(join(copy, 'src/handlers', file), `${lines.join('\n')}\n`);
}

/** How soon something is done again of which nothing came. */
const AGAIN_MS = 5000;

/** Does something until a check holds: again after a while, or at once where it says that it could not. */
async function again(act: () => boolean | Promise<boolean>, check: () => boolean): Promise<void> {
  while (!check()) {
    const end = performance.now() + ((await act()) ? AGAIN_MS : 0);
    do await pause();
    while (!check() && performance.now() < end);
  }
}

/** Runs `npm run dev`, and reads what it prints. */
async function runDev(args: readonly string[] = []) {
  const [PORT, ADMIN_PORT, MOCK_PORT] = [await freePort(), await freePort(), await freePort()];
  const { output, kill, gone } = run('dev', { HOST: '0.0.0.0', PORT, ADMIN_PORT, MOCK_PORT }, args);
  const told = (what: string) => output().split(what).length - 1;
  const starts = () => told('watch your handlers') + told('dev: serves again');
  await until(() => starts() === 1);
  return {
    ports: [PORT, ADMIN_PORT, MOCK_PORT],
    output,
    starts,
    /** Saves, and waits until that is seen. */
    async saved(save: () => void): Promise<void> {
      const before = told('tracks.ts has changed');
      save();
      await until(() => told('tracks.ts has changed') > before);
    },
    /** Uploads media until a handler has written that. What a mock has not sent when it is started anew, nobody sends. */
    uploaded(line: string): Promise<void> {
      const act = async () => {
        const media = { method: 'POST', body: '{"site_id":"devSite1"}' };
        const answer = await fetch(`http://127.0.0.1:${MOCK_PORT}/_mock/media`, media).catch(() => undefined);
        if (answer) expect(answer.status).toBe(201);
        return answer !== undefined;
      };
      return again(act, () => readFileSync(diary, 'utf8').includes(line));
    },
    /** Presses Ctrl-C. */
    async interrupt(): Promise<void> {
      kill('SIGINT');
      await gone();
      for (const port of [PORT, ADMIN_PORT, MOCK_PORT]) expect(await isOpen('127.0.0.1', port)).toBe(false);
    },
  };
}

test('npm run dev serves on loopback with the mock beside it, starts again when a handler file changes, and leaves nothing', async () => {
  writeHandlers('first', forever);
  const inspected = await freePort();
  const dev = await runDev([`--inspect=${inspected}`]);
  for (const port of dev.ports) {
    expect(dev.output()).toContain(`http://127.0.0.1:${port}`);
    expect(await isOpen('127.0.0.1', port)).toBe(true);
    expect(await isOpen('127.0.0.2', port)).toBe(false);
  }
  expect((await fetch(`http://127.0.0.1:${dev.ports[1]}/send`)).status).toBe(200);
  expect(dev.output()).toContain(join(copy, 'data/dev.db'));
  expect(existsSync(join(copy, 'data/dev.db'))).toBe(true);
  expect(existsSync(join(copy, 'data/receiver.db'))).toBe(false);

  await dev.uploaded('first media_available');
  await dev.saved(() => writeFileSync(join(copy, 'src/handlers/tracks.ts'), 'export const tracks = {\n'));
  await until(() => dev.output().includes('src/handlers/index.ts does not load'));
  cpSync(join(import.meta.dirname, '../../tsconfig.json'), join(copy, 'tsconfig.json'));
  await dev.saved(() => writeHandlers('second', "const wrong: number = 'text';"));
  // What the first version had not ended is the second's.
  await until(() => readFileSync(diary, 'utf8').includes('second media_available'));
  await dev.uploaded('second media_created');
  await until(() => /tracks\.ts\(\d+,\d+\): error TS2322/.test(dev.output()));
  rmSync(join(copy, 'tsconfig.json')); // the checks take time

  // As editors save that put a new file in the place of the old one.
  for (const version of ['third', 'fourth']) {
    await dev.saved(() => {
      writeHandlers(version, '', 'tracks.new');
      renameSync(join(copy, 'src/handlers/tracks.new'), join(copy, 'src/handlers/tracks.ts'));
    });
    await dev.uploaded(`${version} media_available`);
  }
  const debugged = await (await fetch(`http://127.0.0.1:${inspected}/json/list`)).text();
  await once(new WebSocket(present(/ws:[^"]+/.exec(debugged)?.[0])), 'open'); // and stays
  await dev.interrupt();
});

test('npm run dev names the line of an endless loop, runs the mended handler, and ends within another one', async () => {
  writeHandlers('endless', ENDLESS);
  const dev = await runDev();
  await dev.uploaded('endless media_available');
  await until(() => dev.output().includes('starts again when a file changes'));
  expect(dev.output()).toMatch(
    /stood still for 5 s\n {4}at media_available \(file:.*\/tracks\.ts:10:\d+\)\n/,
  );
  await dev.saved(() => writeHandlers('mended'));
  await until(() => readFileSync(diary, 'utf8').includes('mended media_available 2'));
  const before = dev.starts();
  await dev.saved(() => writeHandlers('again', ENDLESS));
  await until(() => dev.starts() > before);
  await dev.uploaded('again media_available');
  await dev.interrupt();
});

// As the button of an editor ends it: a terminal would signal all of them.
test.each(['dev', 'demo'])('npm run %s leaves nothing, when npm alone is told to end', async (script) => {
  const [PORT, ADMIN_PORT, MOCK_PORT] = [await freePort(), await freePort(), await freePort()];
  const { child, gone } = run(script, { HOST: '127.0.0.1', PORT, ADMIN_PORT, MOCK_PORT });
  while (!(await isOpen('127.0.0.1', ADMIN_PORT))) await pause();
  child.kill('SIGTERM');
  await gone();
  for (const port of [PORT, ADMIN_PORT, MOCK_PORT]) expect(await isOpen('127.0.0.1', port)).toBe(false);
});

const slowHandlers = fileURLToPath(new URL('../scenarios/handlers/slow.ts', import.meta.url));

const fileOf = directoryForEachTest();

/** Starts it as the first process of a group, as a shell does, and waits until a handler runs that ends when it is aborted. */
async function startAtWork(more: Readonly<Record<string, string>> = {}, command = ['npm', 'start']) {
  const url = `sqlite:${fileOf('receiver.db')}`;
  const store = await openAsOther(url);
  const { id } = await store.queue.record(verified({ media_id: 'media0' }));
  const own = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', DATABASE_URL: url, HANDLERS: slowHandlers };
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const started = startGroup(command, root, { ...programEnv, HOME: process.env.HOME, ...own, ...more });
  await eventually('its handler runs', async () => (await store.queue.event({ id }))?.status === 'running');
  await store.close();
  return started;
}

test('npm start stops in order, when all its processes get SIGINT, as from a terminal, and npm passes it on', async () => {
  const { kill, output, gone } = await startAtWork({ SHUTDOWN_GRACE_MS: '300', DRAIN_MS: '0' });
  const inspecting = /"url":"([^"]+)","msg":"inspecting"/;
  await eventually('its inspector listens', () => inspecting.test(output()));
  expect((await fetch(`${inspecting.exec(output())?.[1]}/send`)).status).toBe(404); // dev alone sends
  kill('SIGINT');
  kill('SIGINT'); // npm alone may pass it on before the first one is taken, and so as one
  kill('SIGQUIT'); // as some supervisors send beside another one
  await gone();
  expect(output()).toContain('the stop interrupted a handler; its event runs again');
  expect(output().match(/"msg":"stopping"/g)).toHaveLength(1);
  expect(output()).toContain('"msg":"stopped"');
});

test.each(['npm start', 'npx hookkit serve'])('%s stops in order at SIGTERM to npm', async (command) => {
  const settings = { SHUTDOWN_GRACE_MS: '300', DRAIN_MS: '0' };
  const { child, output, gone } = await startAtWork(settings, command.split(' '));
  child.kill('SIGTERM');
  await gone();
  expect(output()).toContain('the stop interrupted a handler; its event runs again');
  expect(output()).toContain('"msg":"stopped"');
});

test('npm start ends at once, and says so, when it is told once more a second later', async () => {
  const { kill, output, gone } = await startAtWork();
  kill('SIGINT');
  await eventually('it stops', () => output().includes('"msg":"stopping"'));
  for (let again = 0; again < 3; again++) kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, SAME_SIGNAL_MS + 100));
  expect(output()).not.toContain('a second signal');
  kill('SIGINT');
  await gone();
  expect(output()).toContain('a second signal came: SIGINT');
  expect(output()).not.toContain('"msg":"stopped"');
});
