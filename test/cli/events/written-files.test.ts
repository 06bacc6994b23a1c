import { spawn, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
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
  ['events export --out', ['export', '--out'], 'body'],
  ['events replay --report', ['replay', '--all', '--run', '--report'], 'outcome'],
] as const)('%s', (_, args, member) => {
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

  test('replaces the target whole and leaves the links, when a link of a link names a file', async () => {
    mkdirSync(desk().path('data'));
    desk().write('data/real.ndjson', `{"v":1,"${member}":"former"}\n`);
    symlinkSync('real.ndjson', desk().path('data/inner.ndjson'));
    symlinkSync('data/inner.ndjson', desk().path('outer.ndjson'));
    expect(await writeTo(desk().path('outer.ndjson'))).toMatchObject({ code: 0 });
    expect(desk().lines('data/real.ndjson')).toHaveLength(3);
    expect(lstatSync(desk().path('data/real.ndjson')).mode & 0o777).toBe(0o600);
    expect(readlinkSync(desk().path('outer.ndjson'))).toBe('data/inner.ndjson');
    expect(readlinkSync(desk().path('data/inner.ndjson'))).toBe('real.ndjson');
    expect(readdirSync(desk().path('data')).toSorted()).toEqual(['inner.ndjson', 'real.ndjson']);
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

  test('says that it cannot write, when it is given a directory', async () => {
    mkdirSync(desk().path('out'));
    const { code, stderr } = await writeTo(desk().path('out'));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('EISDIR') });
  });
});
