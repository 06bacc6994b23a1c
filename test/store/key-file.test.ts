import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { keyFile, readOrMakeKeyFile } from '../../src/store/key-file.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db.key');
});

afterEach(() => rmSync(directory, { recursive: true }));

function unusable(what: string): unknown {
  return expect.objectContaining({ code: 'STORE_UNUSABLE', message: expect.stringContaining(what) });
}

describe('readOrMakeKeyFile', () => {
  test('makes a key of 32 bytes, when there is none and it may, in a file for its owner only', () => {
    const key = readOrMakeKeyFile(path, { mayMake: true });
    expect(key).toHaveLength(32);
    expect(readFileSync(path, 'utf8').trim()).toBe(key.toString('base64'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['receiver.db.key']);
  });

  test('gives the same key, when the file is there, and leaves the file as it is', () => {
    const key = readOrMakeKeyFile(path, { mayMake: true });
    const before = statSync(path).mtimeMs;
    expect(readOrMakeKeyFile(path, { mayMake: true })).toEqual(key);
    expect(readOrMakeKeyFile(path, { mayMake: false })).toEqual(key);
    expect(statSync(path).mtimeMs).toBe(before);
  });

  test('makes another key, when it is for another database', () => {
    const other = readOrMakeKeyFile(join(directory, 'other.key'), { mayMake: true });
    expect(readOrMakeKeyFile(path, { mayMake: true })).not.toEqual(other);
  });

  test('reads a key, when its file has no line end, or one of Windows', () => {
    const key = Buffer.alloc(32, 7);
    for (const end of ['', '\r\n']) {
      writeFileSync(path, key.toString('base64') + end);
      expect(readOrMakeKeyFile(path, { mayMake: false })).toEqual(key);
    }
  });

  test('refuses, when the file is missing and a new key would open nothing, and makes none', () => {
    expect(() => readOrMakeKeyFile(path, { mayMake: false })).toThrow(unusable(path));
    expect(existsSync(path)).toBe(false);
  });

  test.each(['', 'not a key', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
    'refuses, when the file holds %j, and leaves it for its owner to look at',
    (text) => {
      writeFileSync(path, text);
      expect(() => readOrMakeKeyFile(path, { mayMake: true })).toThrow(unusable(path));
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  test('refuses without showing it, when the file holds something else', () => {
    writeFileSync(path, 'what-somebody-pasted-by-mistake');
    expect(() => readOrMakeKeyFile(path, { mayMake: true })).not.toThrow(/pasted/);
  });

  test('refuses, when the file cannot be read, and says what to check', () => {
    mkdirSync(path);
    expect(() => readOrMakeKeyFile(path, { mayMake: true })).toThrow(unusable('owner and mode'));
  });

  test('gives all the same key, when several make it at the same moment, and leaves nothing beside it', async () => {
    const threads = 4;
    const barrier = new Int32Array(new SharedArrayBuffer(4));
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      import(workerData.module).then(({ readOrMakeKeyFile }) => {
        Atomics.add(workerData.barrier, 0, 1);
        while (Atomics.load(workerData.barrier, 0) < ${threads});
        parentPort.postMessage(readOrMakeKeyFile(workerData.path, { mayMake: true }));
      });`;
    const module = new URL('../../src/store/key-file.ts', import.meta.url).href;
    const keys = await Promise.all(
      Array.from({ length: threads }, async () => {
        const worker = new Worker(source, { eval: true, workerData: { barrier, module, path } });
        const [key] = await once(worker, 'message');
        return Buffer.from(key).toString('base64');
      }),
    );
    expect(new Set(keys)).toEqual(new Set([readFileSync(path, 'utf8').trim()]));
    expect(readdirSync(directory)).toEqual(['receiver.db.key']);
  });
});

describe('keyFile', () => {
  test('finds a key that a former version has left beside a symbolic link, and puts it where that leads', () => {
    mkdirSync(join(directory, 'keys'));
    readOrMakeKeyFile(join(directory, 'keys', 'k'), { mayMake: true });
    symlinkSync('keys/k', path);
    const key = Buffer.alloc(32, 5);
    writeFileSync(`${path}.next-0123abcd`, `${key.toString('base64')}\n`);
    const [left, ...others] = keyFile(path).left();
    expect(others).toEqual([]);
    left?.adopt();
    expect(readOrMakeKeyFile(join(directory, 'keys', 'k'), { mayMake: false })).toEqual(key);
    expect(readdirSync(directory).sort()).toEqual(['keys', 'receiver.db.key']);
  });

  test('makes a key where a symbolic link leads, when nothing is there yet', () => {
    mkdirSync(join(directory, 'keys'));
    symlinkSync('keys/k', path);
    const key = keyFile(path).read({ mayMake: true });
    expect(readlinkSync(path)).toBe('keys/k');
    expect(readOrMakeKeyFile(join(directory, 'keys', 'k'), { mayMake: false })).toEqual(key);
  });

  test('puts a new key where a symbolic link leads, and leaves the link', () => {
    const kept = join(directory, 'keys', 'k');
    mkdirSync(join(directory, 'keys'));
    const first = readOrMakeKeyFile(kept, { mayMake: true });
    symlinkSync('keys/k', path);
    const source = keyFile(path);
    expect(source.read({ mayMake: false })).toEqual(first);
    const next = source.next(undefined);
    expect(source.left().map(({ key }) => key)).toEqual([next.key]);
    next.adopt();
    expect(readlinkSync(path)).toBe('keys/k');
    expect(readOrMakeKeyFile(kept, { mayMake: false })).toEqual(next.key);
    expect(source.read({ mayMake: false })).toEqual(next.key);
    expect([readdirSync(directory).sort(), readdirSync(join(directory, 'keys'))]).toEqual([
      ['keys', 'receiver.db.key'],
      ['k'],
    ]);
  });
});
