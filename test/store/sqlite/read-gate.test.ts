import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { StoreLink } from '../../../src/store/link.ts';
import { LOG_BYTES, LONGEST_LOG } from '../../../src/store/sqlite/open-sqlite.ts';
import { ReadGate } from '../../../src/store/sqlite/read-gate.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type Reads = { readonly query: (input: number) => number };

let directory: string;
let path: string;
/** What happened, in order. */
let happened: string[];
/** Ends the queries under way, each with its name. */
let ends: Map<number, () => void>;
let reset: () => Promise<boolean>;
let gate: ReadGate<Reads>;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'log');
  writeFileSync(path, '');
  happened = [];
  ends = new Map();
  reset = async () => true;
  const link: StoreLink<Reads> = {
    request: async (_name, input) => {
      happened.push(`query ${input}`);
      await new Promise<void>((resolve) => ends.set(input, resolve));
      return input as never;
    },
    close: async () => void happened.push('closed'),
  };
  gate = new ReadGate(link, {
    path,
    reset: () => {
      happened.push('reset');
      return reset();
    },
  });
});

afterEach(() => rmSync(directory, { recursive: true }));

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets a query through the gate and to its end. */
async function query(name: number): Promise<void> {
  const result = gate.request('query', name);
  await turn();
  ends.get(name)?.();
  expect(await result).toBe(name);
}

test('a query waits until the query before it has ended and the log is reset, when the log is too long', async () => {
  const first = gate.request('query', 1);
  const second = gate.request('query', 2);
  await turn();
  truncateSync(path, LONGEST_LOG + 1);
  let isReset = (_result: boolean) => {};
  reset = () => new Promise((resolve) => (isReset = resolve));
  expect(happened).toEqual(['query 1']);
  ends.get(1)?.();
  await turn();
  expect(happened).toEqual(['query 1', 'reset']);
  isReset(true);
  await turn();
  expect(happened).toEqual(['query 1', 'reset', 'query 2']);
  ends.get(2)?.();
  expect(await Promise.all([first, second])).toEqual([1, 2]);
});

test.each([
  ['another program holds the log', async () => false],
  ['the writer fails', () => Promise.reject(new Error('locked'))],
])('queries go on, when %s, and try again once the log is longer by a good deal', async (_why, refuse) => {
  reset = refuse;
  truncateSync(path, LONGEST_LOG + 1);
  await query(1);
  truncateSync(path, LONGEST_LOG + LOG_BYTES);
  await query(2);
  truncateSync(path, LONGEST_LOG + LOG_BYTES + 2);
  await query(3);
  expect(happened).toEqual(['reset', 'query 1', 'query 2', 'reset', 'query 3']);
});

test('the log is reset as soon as it is too long, when it was very long before and another program has reset it', async () => {
  reset = async () => false;
  truncateSync(path, 10 * LONGEST_LOG);
  await query(1);
  truncateSync(path, LONGEST_LOG);
  await query(2);
  truncateSync(path, LONGEST_LOG + 1);
  await query(3);
  expect(happened).toEqual(['reset', 'query 1', 'query 2', 'reset', 'query 3']);
});

test('a reset log counts as reset, when its file is as long as before until the next write', async () => {
  truncateSync(path, LONGEST_LOG + 1);
  await query(1);
  await query(2);
  expect(happened).toEqual(['reset', 'query 1', 'query 2']);
});

test('the queries that wait get their results, when the store is closed, and later ones are refused', async () => {
  const waiting = [gate.request('query', 1), gate.request('query', 2)];
  await turn();
  const closed = gate.close();
  await expect(gate.request('query', 3)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  ends.get(1)?.();
  await turn();
  ends.get(2)?.();
  expect(await Promise.all(waiting)).toEqual([1, 2]);
  await closed;
  expect(happened).toEqual(['query 1', 'query 2', 'closed']);
});
