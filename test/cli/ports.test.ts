import { once } from 'node:events';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { runCli, spawnCli } from '../support/run-cli.ts';
import { some } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let holder: Server;
let taken: number;
let directory: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const address = holder.address();
  taken = typeof address === 'object' && address !== null ? address.port : 0;
});

afterAll(() => {
  holder.close();
  rmSync(directory, { recursive: true });
});

const FREE = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', MOCK_PORT: '0', LOG_LEVEL: 'silent' };

/** The variable of each listener that a command has. */
const listeners = [
  ['serve', 'PORT'],
  ['serve', 'ADMIN_PORT'],
  ['demo', 'PORT'],
  ['demo', 'ADMIN_PORT'],
  ['demo', 'MOCK_PORT'],
  ['dev', 'PORT'],
  ['dev', 'MOCK_PORT'],
  ['dev', 'ADMIN_PORT'],
  ['mock', 'MOCK_PORT'],
] as const;

test.each(some(2, listeners))(
  'hookkit %s ends with 1 and one sentence, when %s is taken',
  async (command, variable) => {
    const env = { ...FREE, TMPDIR: directory, [variable]: `${taken}` };
    const { code, stdout, stderr } = await spawnCli([command], { cwd: directory, env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^hookkit: cannot listen on 127\\.0\\.0\\.1:${taken}: .*; set .*\\b${variable}\\n$`),
    );
    expect(readdirSync(directory).filter((name) => name.startsWith('hookkit-demo-'))).toEqual([]);
  },
);

test('the demo takes PORT, ADMIN_PORT and MOCK_PORT, when they are set, in the environment and in a file', async () => {
  const [port, admin, mock] = [await freePort(), await freePort(), await freePort()];
  writeFileSync(join(directory, 'demo.env'), `PORT=${port}\nADMIN_PORT=${admin}\nDATABASE_URL=no database\n`);
  const { code, stdout } = await runCli(['--env-file', 'demo.env', 'demo', '--once'], {
    cwd: directory,
    env: { MOCK_PORT: `${mock}` },
  });
  expect(stdout).toContain(`mock provider  http://127.0.0.1:${mock}\n`);
  expect(stdout).toContain(`receiver       http://127.0.0.1:${port}/`);
  expect(stdout).toContain(`inspector      http://127.0.0.1:${admin}\n`);
  expect(code).toBe(0);
});

test('hookkit mock names --host, when no address has the host that it was given', async () => {
  const { code, stderr } = await spawnCli(['mock', '--host', '192.0.2.1', '--port', '0'], { cwd: directory });
  expect(code).toBe(1);
  expect(stderr).toMatch(/cannot listen on 192\.0\.2\.1:0: .*; set --host and MOCK_PORT\n$/);
});
