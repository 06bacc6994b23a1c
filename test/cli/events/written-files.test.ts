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
  ['events export --out', ['export', '--out']],
  ['events replay --report', ['replay', '--all', '--run', '--report']],
])('%s', (_, args) => {
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

  test.each([
    ['names a file', '{"v":1}'],
    ['names a file that is not there yet', undefined],
  ])('replaces the target whole and leaves the links, when a link of a link %s', async (_case, old) => {
    mkdirSync(desk().path('data'));
    if (old !== undefined) desk().write('data/real.ndjson', old);
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
  ])('writes nothing and changes nothing, when it is to replace %s', async (_what, name) => {
    await desk().fill(3);
    desk().write('notes', 'all that I know\n');
    symlinkSync('notes', desk().path('link'));
    if (!existsSync(desk().path(name))) return; // the database is on a server
    const before = readFileSync(desk().path(name));
    const { code, stderr } = await desk().events([...args, desk().path(name)]);
    expect(code).toBe(1);
    expect(stderr).toContain('has no lines of JSON');
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
