import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { makeKey, theKey } from '../../src/store/key-file.ts';
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

describe('a key file', () => {
  test('makes a key of 32 bytes, when there is none and it may, in a file for its owner only', () => {
    const key = makeKey(path);
    expect(key).toHaveLength(32);
    expect(readFileSync(path, 'utf8').trim()).toBe(key.toString('base64'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['receiver.db.key']);
  });

  test('gives the same key, when the file is there, and leaves the file as it is', () => {
    const key = makeKey(path);
    const before = statSync(path).mtimeMs;
    expect(makeKey(path)).toEqual(key);
    expect(theKey(path)).toEqual(key);
    expect(statSync(path).mtimeMs).toBe(before);
  });

  test('reads a key, when its file has no line end, or one of Windows', () => {
    const key = Buffer.alloc(32, 7);
    for (const end of ['', '\r\n']) {
      writeFileSync(path, key.toString('base64') + end);
      expect(theKey(path)).toEqual(key);
    }
  });

  test('refuses, when the file is missing and a new key would open nothing, and makes none', () => {
    expect(() => theKey(path)).toThrow(unusable(path));
    expect(existsSync(path)).toBe(false);
  });

  test.each(['', 'not a key', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64')])(
    'refuses, when the file holds %j, and leaves it for its owner to look at',
    (text) => {
      writeFileSync(path, text);
      expect(() => makeKey(path)).toThrow(unusable(path));
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  test('refuses, when the file cannot be read, and says what to check', () => {
    mkdirSync(path);
    expect(() => makeKey(path)).toThrow(unusable('owner and mode'));
  });

  test('gives all the same key, when several make it at the same moment, and leaves nothing beside it', async () => {
    const threads = 4;
    const barrier = new Int32Array(new SharedArrayBuffer(4));
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      import(workerData.module).then(({ makeKey }) => {
        Atomics.add(workerData.barrier, 0, 1);
        while (Atomics.load(workerData.barrier, 0) < ${threads});
        parentPort.postMessage(makeKey(workerData.path));
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
