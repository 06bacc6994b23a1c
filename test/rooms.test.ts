import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bodyOf, deliver, SECRET } from './support/notifications.ts';
import { present } from './support/only.ts';
import { copyProgram } from './support/program-copy.ts';
import { programEnv, sampleHandlers } from './support/sample-handlers.ts';
import { startProcess } from './support/service-process.ts';
import { size, some } from './support/sizes.ts';
import { filesBelow, importsOf } from './support/source-files.ts';

interface OptionalRoom {
  readonly room: string;
  /** the folder, and the commands that are nothing without it */
  readonly folders: readonly string[];
  /** the lines that mount it */
  readonly mounts: Readonly<Record<string, RegExp>>;
}

const rooms: readonly OptionalRoom[] = [
  {
    room: 'inspector',
    folders: ['inspector'],
    mounts: { 'start.ts': /^.*createInspector.*\n/gm },
  },
  {
    room: 'mock',
    // The kit for tests of handlers is built on it.
    folders: ['mock', 'testing', 'demo', 'dev/stage.ts', 'cli/mock.ts', 'cli/demo.ts', 'cli/dev.ts'],
    mounts: { 'cli/main.ts': /^ {2}(demo|dev|mock): .*\n/gm },
  },
  { room: 'testing', folders: ['testing'], mounts: {} },
  { room: 'recipes', folders: ['recipes'], mounts: {} },
  {
    room: 'postgres',
    folders: ['store/postgres'],
    mounts: { 'store/open.ts': /^ {2}postgres: .*\n/gm },
  },
];

/** Each costs two starts. */
const tested = some(1, rooms);
/** The compiler costs more than both. */
const isFull = size({ small: false, full: true });

const root = fileURLToPath(new URL('../', import.meta.url));
const run = promisify(execFile);
/** The program without each room. */
const copies = new Map<OptionalRoom, string>();
let complaints = '';

beforeAll(async () => {
  for (const room of tested) copies.set(room, copyWithout(room));
  if (!isFull) return;
  // The compiler reads the packages once for all copies. With one thread it takes less processor time.
  const [first = ''] = copies.values();
  const tsconfig = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  const include = [...copies.values()].map((copy) => join(copy, 'src'));
  writeFileSync(join(first, 'tsconfig.json'), JSON.stringify({ ...tsconfig, include }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--singleThreaded', '--pretty', 'false'];
  ({ stdout: complaints } = await run(process.execPath, args, { cwd: first }).catch((error) => error));
});
afterAll(() => {
  for (const copy of copies.values()) rmSync(copy, { recursive: true, force: true });
});

function copyWithout({ folders, mounts }: OptionalRoom): string {
  const copy = copyProgram();
  for (const folder of folders) rmSync(join(copy, 'src', folder), { recursive: true });
  for (const [file, mount] of Object.entries(mounts)) {
    const path = join(copy, 'src', file);
    const text = readFileSync(path, 'utf8');
    const without = text.replace(mount, '');
    expect(without).not.toBe(text);
    writeFileSync(path, without);
  }
  return copy;
}

test.each(rooms)(
  'imports nothing that is not there, when the room $room and its mounts are deleted',
  ({ folders, mounts }) => {
    const isDeleted = (path: string) =>
      folders.some((folder) => path === `src/${folder}` || path.startsWith(`src/${folder}/`));
    // Not the handlers of whoever has the project: a copy of the program has others.
    const sources = filesBelow('src', '.ts').filter(({ path }) => !path.startsWith('src/handlers/'));
    const left = sources.filter(({ path }) => !isDeleted(path));
    expect(left.length).toBeLessThan(sources.length);
    const dangling = left.flatMap((file) => {
      const mount = mounts[file.path.slice('src/'.length)];
      const without = mount ? { ...file, text: file.text.replace(mount, '') } : file;
      return importsOf(without).filter(({ target }) => target !== undefined && isDeleted(target));
    });
    expect(dangling).toEqual([]);
  },
);

if (isFull) {
  test('type-checks, when a room and its mounts are deleted', () => {
    expect(copies.size).toBe(rooms.length);
    expect(complaints).toBe('');
  });
}

test.each(tested)(
  'tells its commands and serves, when the room $room and its mounts are deleted',
  async (room) => {
    const copy = present(copies.get(room));
    const cli = join(copy, 'bin/hookkit.js');
    const { stdout: help } = await run(process.execPath, [cli, '--help'], { cwd: copy, env: programEnv });
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
