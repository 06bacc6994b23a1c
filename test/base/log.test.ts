import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { LogDestination } from '../../src/base/log.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
const fileOf = directoryForEachTest();
const path = () => fileOf('log');
let cleanUps: (() => void)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.reverse()) cleanUp();
  cleanUps = [];
});

/** A pipe with a name: its reader first, as no writer can open one that nobody reads. */
function pipe(): { readonly reader: number; readonly writer: number } {
  execFileSync('mkfifo', [path()]);
  const reader = openSync(path(), O_RDONLY | O_NONBLOCK);
  return { reader, writer: openSync(path(), O_WRONLY | O_NONBLOCK) };
}

/** What is in a pipe now. */
function takeFrom(reader: number): string {
  const buffer = Buffer.alloc(1024 * 1024);
  try {
    return buffer.toString('utf8', 0, readSync(reader, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}

/** A destination; when it takes lines again, it writes `dropped N` into the gap. */
function destinationOn(fd: number): LogDestination {
  const destination = new LogDestination(fd, (lines) => destination.write(`dropped ${lines}\n`));
  return destination;
}

const lineOf = (number: number) => `${String(number).padStart(7, '0')} ${'x'.repeat(1000)}\n`;
const linesTo = (count: number) => Array.from({ length: count }, (_, number) => lineOf(number));

test('lines come whole and in order, when the reader stood still for a while, with the number of those dropped in the gap', async () => {
  const { reader, writer } = pipe();
  const destination = destinationOn(writer);
  const sent = 20_000;
  for (const line of linesTo(sent)) destination.write(line);
  expect(destination.dropped).toBeGreaterThan(sent / 2); // 20 MB, of which 8 may wait
  let text = '';
  while (!text.slice(-100).includes('dropped')) {
    text += takeFrom(reader);
    await setImmediate();
  }
  const taken = linesTo(sent - destination.dropped).join('');
  expect(text === `${taken}dropped ${destination.dropped}\n`).toBe(true);
});

const LOGS = `
  const { openLog } = await import('${new URL('../../src/base/log.ts', import.meta.url)}');
  const { log, flush } = openLog({ LOG_LEVEL: 'info' });
  for (let number = 0; number < 1000; number++) log.fatal({ number }, 'a line of some length')`;

async function runOn(stdout: number, code: string): Promise<unknown> {
  const args = ['--input-type=module', '-e', `${LOGS}; ${code}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'ignore'] });
  cleanUps.push(() => child.kill('SIGKILL'));
  const [exit, signal] = await once(child, 'exit');
  return exit ?? signal;
}

/** A pipe that has no room left. */
function stalled(): number {
  const { writer } = pipe();
  const fill = () => {
    for (;;) writeSync(writer, ' ');
  };
  expect(fill).toThrow('EAGAIN');
  return writer;
}

/** A pipe that nobody reads any more. */
function abandoned(): number {
  const { reader, writer } = pipe();
  closeSync(reader);
  return writer;
}

test.each([
  ['a full disk', () => openSync('/dev/full', 'a')],
  ['a reader that stands still', stalled],
  ['a reader that is gone', abandoned],
])('a program that logs to %s ends, however it does', async (_what, open) => {
  const stdout = open();
  const codes = ['throw undefined', 'await flush()'].map((code) => runOn(stdout, code));
  expect(await Promise.all(codes)).toEqual([1, 0]);
});

test('every line gets out, when a program logs a thousand and ends at once', async () => {
  const last = "process.once('exit', () => log.info({ number: 1000 }, 'the last')); process.exit(0)";
  expect(await runOn(openSync(path(), 'a'), last)).toBe(0);
  const lines = readFileSync(path(), 'utf8').trimEnd().split('\n');
  const numbers = lines.map((line): number => JSON.parse(line).number).toSorted((one, other) => one - other);
  expect(numbers).toEqual(Array.from({ length: 1001 }, (_, n) => n));
});
