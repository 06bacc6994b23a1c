import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { present } from '../support/only.ts';
import { programEnv } from '../support/sample-handlers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

jest.setTimeout(90_000); // npm on a busy machine

let directory: string;
let npm: ChildProcess | undefined;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => {
  if (npm?.exitCode === null && npm.signalCode === null) process.kill(-present(npm.pid), 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

test('npm start stops in order, when npm gets SIGTERM, and leaves no process', async () => {
  const port = await freePort();
  npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...programEnv,
      HOME: process.env.HOME,
      HOST: '127.0.0.1',
      PORT: String(port),
      ADMIN_PORT: '0',
      DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    },
  });
  let told = '';
  const output = present(npm.stdout ?? undefined).setEncoding('utf8');
  const receiving = new Promise<void>((resolve) => {
    output.on('data', (text) => {
      told += text;
      if (told.includes('"msg":"receiving"')) resolve();
    });
  });
  const ended = Promise.all([once(npm, 'exit'), once(output, 'close')]);
  await receiving;
  npm.kill('SIGTERM');
  // Its pipe is closed once no process has it any more.
  await ended;
  expect(told).toContain('"msg":"stopped"');
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow();
});
