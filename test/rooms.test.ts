import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { bodyOf, deliver, SECRET } from './support/notifications.ts';
import { copyProgram, ofCopies } from './support/program-copy.ts';
import { programEnv } from './support/run-cli.ts';
import { startProcess } from './support/service-process.ts';
import { filesBelow, importsOf } from './support/source-files.ts';

interface OptionalRoom {
  readonly room: string;
  /** the folder, and the commands that are nothing without it */
  readonly folders: readonly string[];
  /** the lines that mount it */
  readonly mounts: Readonly<Record<string, RegExp>>;
}

const CHECK = { 'cli/events/index.ts': /^.*addCheck.*\n/gm };

const RECONCILE = /^import .*withReconcile.*\n|, \.\.\.withReconcile\(.*?\)/gm;

const TRACING =
  /^import .*tracingOf.*\n|^.*await tracingOf.*\n|tracing\?\.tracedApp\(complete\) \?\? |^.*tracing\?\.tracedRecord.*\n|, around/gm;

const rooms: readonly OptionalRoom[] = [
  {
    room: 'reconcile',
    folders: ['reconcile', 'cli/reconcile.ts'],
    mounts: {
      'service.ts': RECONCILE,
      'testing/life.ts': RECONCILE,
      'cli/main.ts': /^ {2}reconcile: .*\n/gm,
    },
  },
  { room: 'tracing', folders: ['tracing'], mounts: { 'service.ts': TRACING } },
  {
    room: 'inspector',
    folders: ['inspector', 'cli/status.ts'],
    mounts: { 'start.ts': /^.*createInspector.*\n/gm, 'cli/main.ts': /^ {2}status: .*\n/gm },
  },
  {
    room: 'mock',
    // The kit for tests of handlers is built on it.
    folders: [
      ...['mock', 'testing', 'demo', 'dev/stage.ts'],
      ...['cli/mock.ts', 'cli/demo.ts', 'cli/dev.ts', 'cli/events/check.ts'],
    ],
    mounts: { 'cli/main.ts': /^ {2}(demo|dev|mock): .*\n/gm, ...CHECK },
  },
  { room: 'testing', folders: ['testing', 'cli/events/check.ts'], mounts: CHECK },
  { room: 'recipes', folders: ['recipes'], mounts: {} },
  { room: 'postgres', folders: ['store/postgres'], mounts: { 'store/open.ts': /^ {2}postgres: .*\n/gm } },
];

test.each(rooms)('leaves no import of what is gone, without the room $room', ({ folders, mounts }) => {
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
});

test('tells its commands and serves, when all optional rooms and their mounts are deleted', async () => {
  const copy = copyProgram();
  for (const { folders, mounts } of rooms) {
    for (const folder of folders) rmSync(join(copy, 'src', folder), { recursive: true, force: true });
    for (const [file, mount] of Object.entries(mounts)) {
      const path = join(copy, 'src', file);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, text.replace(mount, ''));
    }
  }
  const cli = join(copy, 'bin/hookkit.js');
  const options = { cwd: copy, env: { ...programEnv, ...ofCopies }, encoding: 'utf8' } as const;
  expect(execFileSync(process.execPath, [cli, '--help'], options)).toContain('serve');
  const env = {
    ...ofCopies,
    DATABASE_URL: `sqlite:${join(copy, 'receiver.db')}`,
    WEBHOOK_SECRET: SECRET,
    HANDLERS: join(copy, 'src/handlers/index.ts'),
  };
  const service = await startProcess(env, copy, cli);
  expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
  await service.stop();
});
