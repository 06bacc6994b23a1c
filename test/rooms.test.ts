import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { bodyOf, deliver, SECRET } from './support/notifications.ts';
import { copyProgram } from './support/program-copy.ts';
import { sampleHandlers } from './support/sample-handlers.ts';
import { startProcess } from './support/service-process.ts';

interface OptionalRoom {
  readonly room: string;
  /** the folder, and the commands that are nothing without it */
  readonly folders: readonly string[];
  /** the lines that mount it */
  readonly mounts: Readonly<Record<string, RegExp>>;
}

const rooms: readonly OptionalRoom[] = [
  {
    room: 'mock',
    folders: ['mock', 'cli/mock.ts', 'cli/demo', 'cli/demo.ts', 'cli/dev.ts'],
    mounts: { 'cli/main.ts': /^ {2}(demo|dev|mock): .*\n/gm },
  },
  {
    room: 'inspector',
    folders: ['inspector'],
    mounts: { 'start.ts': /^.*createInspector.*\n/gm },
  },
];

const root = fileURLToPath(new URL('../', import.meta.url));
let copy: string;
afterEach(() => rmSync(copy, { recursive: true, force: true }));

function copyWithout({ folders, mounts }: OptionalRoom): void {
  copy = copyProgram();
  const tsconfig = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ ...tsconfig, include: ['src'] }));
  for (const folder of folders) rmSync(join(copy, 'src', folder), { recursive: true });
  for (const [file, mount] of Object.entries(mounts)) {
    const path = join(copy, 'src', file);
    const text = readFileSync(path, 'utf8');
    const without = text.replace(mount, '');
    expect(without).not.toBe(text);
    writeFileSync(path, without);
  }
}

test.each(rooms)(
  'type-checks, tells its commands and serves, when the room $room and its mounts are deleted',
  async (room) => {
    copyWithout(room);
    const run = promisify(execFile);
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout: complaints } = await run(process.execPath, [tsc, '--noEmit'], { cwd: copy }).catch(
      (error) => error,
    );
    expect(complaints).toBe('');
    const cli = join(copy, 'bin/hookkit.js');
    const { stdout: help } = await run(process.execPath, [cli, '--help'], { cwd: copy });
    expect(help).toContain('serve');

    const env = {
      DATABASE_URL: `sqlite:${join(copy, 'receiver.db')}`,
      WEBHOOK_SECRET: SECRET,
      ADMIN_PORT: '0',
      HANDLERS: sampleHandlers,
    };
    const service = await startProcess(env, undefined, copy, cli);
    expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
    service.child.kill('SIGTERM');
    expect(await service.exited).toBe(0);
  },
);
