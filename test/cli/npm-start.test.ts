import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { SAME_SIGNAL_MS } from '../../src/stopping.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { startGroup } from '../support/process-group.ts';
import { programEnv } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

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
