import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, jest, test } from '@jest/globals';
import { deskForEachTest, ndjson } from '../../support/event-desk.ts';
import { runCli } from '../../support/run-cli.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

/** Makes a device in the directory of the test, as its owner may do who is root. */
const makeDevice = (minor: string) => {
  const path = desk().path('device');
  return { path, isMade: spawnSync('mknod', [path, 'c', '1', minor]).status === 0 };
};
const NULL = '3';
const FULL = '7';

describe.each([
  ['events export --out', ['export', '--out'], 'body', 'outcome'],
  ['events replay --report', ['replay', '--all', '--run', '--report'], 'outcome', 'body'],
] as const)('%s', (_, args, member, foreign) => {
  const writeTo = async (path: string) => {
    await desk().fill(3);
    return desk().events([...args, path]);
  };

  test('hands its lines to the reader of a pipe, when it is given a pipe, which stays one', async () => {
    const pipe = desk().path('pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    const reader = spawn('timeout', ['60', 'cat', pipe]);
    const read = text(reader.stdout);
    expect(await writeTo(pipe)).toMatchObject({ code: 0 });
    expect(ndjson(await read)).toHaveLength(3);
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  test('ends with 1, when it is interrupted while nobody reads the pipe that it is given', async () => {
    const pipe = desk().path('pipe');
    expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
    await desk().fill(3);
    const run = await runCli(['events', ...args, pipe], { env: desk().env, signal: AbortSignal.abort() });
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining('hookkit: interrupted') });
  });

  test.each([
    ['names a file', true],
    ['names a file that is not there yet', false],
  ])('replaces the target whole and leaves the links, when a link of a link %s', async (_case, isThere) => {
    mkdirSync(desk().path('data'));
    if (isThere) desk().write('data/real.ndjson', `{"v":1,"${member}":"former"}\n`);
    symlinkSync('real.ndjson', desk().path('data/inner.ndjson'));
    symlinkSync('data/inner.ndjson', desk().path('outer.ndjson'));
    expect(await writeTo(desk().path('outer.ndjson'))).toMatchObject({ code: 0 });
    expect(desk().lines('data/real.ndjson')).toHaveLength(3);
    expect(lstatSync(desk().path('data/real.ndjson')).mode & 0o777).toBe(0o600);
    expect(readlinkSync(desk().path('outer.ndjson'))).toBe('data/inner.ndjson');
    expect(readlinkSync(desk().path('data/inner.ndjson'))).toBe('real.ndjson');
    expect(readdirSync(desk().path('data')).toSorted()).toEqual(['inner.ndjson', 'real.ndjson']);
  });

  test.each([
    ['its database', 'receiver.db'],
    ['the key of its secrets', 'receiver.db.key'],
    ['any other file, by a link', 'link'],
    ['a file of another command', 'foreign.ndjson'],
  ])('writes nothing and changes nothing, when it is to replace %s', async (_what, name) => {
    await desk().fill(3);
    desk().write('notes', 'all that I know\n');
    symlinkSync('notes', desk().path('link'));
    const content = { v: 1, [foreign]: `"${member}":`, state: { [member]: 1, list: [{ [member]: 2 }] } };
    desk().write('foreign.ndjson', `${JSON.stringify(content)}\n`);
    if (!existsSync(desk().path(name))) return; // the database is on a server
    const before = readFileSync(desk().path(name));
    const { code, stderr } = await desk().events([...args, desk().path(name)]);
    expect(code).toBe(1);
    expect(stderr).toContain('perhaps the only one of its kind: remove it first, or name another one');
    expect(readFileSync(desk().path(name)).equals(before)).toBe(true);
    expect(await writeTo(desk().path('whole.ndjson'))).toMatchObject({ code: 0 });
  });

  test('writes into a device, when it is given one, and leaves it a device', async () => {
    const { path, isMade } = makeDevice(NULL);
    if (!isMade) return;
    expect(await writeTo(path)).toMatchObject({ code: 0 });
    expect(lstatSync(path).isCharacterDevice()).toBe(true);
  });

  test('says that it cannot write, when a device takes nothing, and leaves it a device', async () => {
    const { path, isMade } = makeDevice(FULL);
    if (!isMade) return;
    const { code, stderr } = await writeTo(path);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') });
    expect(lstatSync(path).isCharacterDevice()).toBe(true);
  });

  test.each([
    ['a directory', 'EISDIR', () => mkdirSync(desk().path('out'))],
    ['a link that leads to itself', 'ELOOP', () => symlinkSync('out', desk().path('out'))],
  ])('says that it cannot write, when it is given %s: %s', async (_case, error, make) => {
    make();
    const { code, stderr } = await writeTo(desk().path('out'));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(error) });
  });
});

test('events replay --report keeps the recording that it sends, when it is told to write over that', async () => {
  await desk().fill(2);
  const file = desk().path('recording.ndjson');
  await desk().events(['export', '--out', file]);
  const before = readFileSync(file, 'utf8');
  const { code, stdout, stderr } = await desk().events(
    ['replay', '--to', 'http://127.0.0.1:1/', '--from', file, '--report', file, '--secret-file', '-'],
    { stdin: 'a-secret-of-at-least-thirty-two-bytes' },
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('there is a file that is not a report');
  expect(readFileSync(file, 'utf8')).toBe(before);
});
