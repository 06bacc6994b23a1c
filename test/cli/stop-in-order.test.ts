import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { endAfterSuite } from '../jest/left-behind.ts';
import { eventually } from '../support/eventually.ts';
import { present } from '../support/only.ts';
import { programEnv } from '../support/sample-handlers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

jest.setTimeout(60_000); // processes on a busy machine
const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));
const HANDLERS = fileURLToPath(new URL('../support/slow-handlers.ts', import.meta.url));

let directory: string;
let child: ChildProcess | undefined;
let output = '';

beforeEach(async () => {
  directory = await temporaryDirectory();
  output = '';
});

afterEach(() => {
  if (child?.exitCode === null) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** Starts `hookkit dev`, and resolves with the address of its mock once that listens. */
async function dev(): Promise<string> {
  const started = spawn(process.execPath, [cli, 'dev'], {
    cwd: directory,
    env: {
      ...programEnv,
      DEV_DATABASE_URL: `sqlite:${join(directory, 'dev.db')}`,
      HANDLERS,
      PORT: '0',
      ADMIN_PORT: '0',
      MOCK_PORT: '0',
      LOG_LEVEL: 'debug',
    },
  });
  child = started;
  started.once(
    'exit',
    endAfterSuite(() => started.kill('SIGKILL')),
  );
  const listening = Promise.withResolvers<string>();
  for (const stream of [started.stdout, started.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      const url = /^mock +(http:\S+),/m.exec(output)?.[1];
      if (url !== undefined) listening.resolve(url);
    });
  }
  started.once('exit', () => listening.reject(new Error(`it ended:\n${output}`)));
  return listening.promise;
}

function logged(message: string): object[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === message);
}

async function stop(): Promise<number | null> {
  const exited = once(present(child), 'close');
  child?.kill('SIGTERM');
  const [code] = await exited;
  return code;
}

test('npm run dev says what it could not end, when the database is gone at its stop, of which event, and exits with 1', async () => {
  const mock = await dev();
  const notification = { event: 'media_available', site_id: 'devSite1', media_id: 'media0' };
  const sent = await fetch(`${mock}/_mock/notifications`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...notification, event_time: new Date().toISOString() }),
  });
  expect(sent.ok).toBe(true);
  while (logged('notification recorded').length === 0)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const { id } = logged('notification recorded')[0] as { id: string };
  await eventually('it runs', async () => (await statusOf(id)) === 'running');
  renameSync(join(directory, 'dev.db'), join(directory, 'away.db'));
  expect(await stop()).toBe(1);
  const error = expect.stringContaining('dev.db was moved, deleted or replaced');
  const message = 'cannot store a result before the stop; the event runs again once its lease has run out';
  expect(logged(message)).toMatchObject([{ event: id, outcome: 'interrupted', error }]);
  expect(logged('did not stop in order; all acknowledged notifications are on disk')).toMatchObject([
    { error },
  ]);
});

test('npm run dev logs that it stopped, when all is well, and exits with 0', async () => {
  await dev();
  expect(await stop()).toBe(0);
  expect([logged('stopping'), logged('stopped')]).toMatchObject([[{ signal: 'SIGTERM' }], [{}]]);
});

/** The status of an event, by the inspector. */
async function statusOf(id: string): Promise<string> {
  const inspector = /^inspector +(http:\S+)$/m.exec(output)?.[1];
  const answer = await fetch(`${inspector}/api/events/${id}`);
  return ((await answer.json()) as { status: string }).status;
}
