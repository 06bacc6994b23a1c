import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { endAfterSuite } from '../support/left-behind.ts';
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

test('npm run dev logs that it stopped, when all is well, and exits with 0', async () => {
  await dev();
  expect(await stop()).toBe(0);
  expect([logged('stopping'), logged('stopped')]).toMatchObject([[{ signal: 'SIGTERM' }], [{}]]);
});
