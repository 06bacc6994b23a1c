import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { SAME_SIGNAL_MS } from '../../src/stopping.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { present } from '../support/only.ts';
import { programEnv } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const slowHandlers = fileURLToPath(new URL('../scenarios/handlers/slow.ts', import.meta.url));

const fileOf = directoryForEachTest();
let npm: ChildProcess | undefined;
afterEach(() => {
  try {
    process.kill(-present(npm?.pid), 'SIGKILL'); // the server may be there without npm
  } catch {} // nothing of the group is left
});

/** Starts it as the first process of a group, as a shell does, and waits until a handler runs that ends when it is aborted. */
async function startAtWork(more: Readonly<Record<string, string>> = {}, command = ['npm', 'start']) {
  const url = `sqlite:${fileOf('receiver.db')}`;
  const store = await openAsOther(url);
  const { id } = await store.queue.record(verified({ media_id: 'media0' }));
  const own = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', DATABASE_URL: url, HANDLERS: slowHandlers };
  const [program = '', ...args] = command;
  const child = spawn(program, args, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...programEnv, HOME: process.env.HOME, ...own, ...more },
  });
  npm = child;
  let told = '';
  const output = present(child.stdout ?? undefined).setEncoding('utf8');
  output.on('data', (text) => {
    told += text;
  });
  // The exit code, once no process has its output any more.
  const ended = Promise.all([once(child, 'exit'), once(output, 'close')]).then(([[code]]) => code);
  await eventually('its handler runs', async () => (await store.queue.event({ id }))?.status === 'running');
  await store.close();
  return { npm: child, told: () => told, ended };
}

test('npm start stops in order, when all its processes get SIGINT, as from a terminal, and npm passes it on', async () => {
  const { npm: started, told, ended } = await startAtWork({ SHUTDOWN_GRACE_MS: '300', DRAIN_MS: '0' });
  const inspecting = /"url":"([^"]+)","msg":"inspecting"/;
  await eventually('its inspector listens', () => inspecting.test(told()));
  expect((await fetch(`${inspecting.exec(told())?.[1]}/send`)).status).toBe(404); // dev alone sends
  const group = -present(started.pid);
  process.kill(group, 'SIGINT');
  process.kill(group, 'SIGINT'); // npm alone may pass it on before the first one is taken, and so as one
  process.kill(group, 'SIGQUIT'); // as some supervisors send beside another one
  await ended;
  expect(told()).toContain('the stop interrupted a handler; its event runs again');
  expect(told().match(/"msg":"stopping"/g)).toHaveLength(1);
  expect(told()).toContain('"msg":"stopped"');
});

test.each(['npm start', 'npx hookkit serve'])('%s stops in order at SIGTERM to npm', async (command) => {
  const settings = { SHUTDOWN_GRACE_MS: '300', DRAIN_MS: '0' };
  const { npm: started, told, ended } = await startAtWork(settings, command.split(' '));
  process.kill(present(started.pid), 'SIGTERM');
  await ended;
  expect(told()).toContain('the stop interrupted a handler; its event runs again');
  expect(told()).toContain('"msg":"stopped"');
});

test('npm start ends at once, and says so, when it is told once more a second later', async () => {
  const { npm: started, told, ended } = await startAtWork();
  const group = -present(started.pid);
  process.kill(group, 'SIGINT');
  await eventually('it stops', () => told().includes('"msg":"stopping"'));
  for (let again = 0; again < 3; again++) process.kill(group, 'SIGINT');
  await new Promise((resolve) => setTimeout(resolve, SAME_SIGNAL_MS + 100));
  expect(told()).not.toContain('a second signal');
  process.kill(group, 'SIGINT');
  await ended;
  expect(told()).toContain('a second signal came: SIGINT');
  expect(told()).not.toContain('"msg":"stopped"');
});
