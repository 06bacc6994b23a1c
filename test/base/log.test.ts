import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LogDestination } from '../../src/base/log.ts';
import { eventually } from '../support/eventually.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
const MIB = 1024 * 1024;
let directory: string;
let cleanUps: (() => void)[] = [];
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => {
  for (const cleanUp of cleanUps.reverse()) cleanUp();
  cleanUps = [];
  rmSync(directory, { recursive: true, force: true });
});

/** Left open: a destination whose lines cannot be written tries on. */
const open = (path: string, flags: number | string) => openSync(path, flags);

/** A pipe with a name: its reader first, as no writer can open one that nobody reads. */
function pipe(): { readonly path: string; readonly reader: number; readonly writer: number } {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = open(path, O_RDONLY | O_NONBLOCK);
  return { path, reader, writer: open(path, O_WRONLY | O_NONBLOCK) };
}

/** Leaves no room in a pipe. */
function stuff(writer: number): void {
  for (const size of [65_536, 1]) {
    try {
      for (;;) writeSync(writer, ' '.repeat(size));
    } catch {} // EAGAIN: it is full
  }
}

/** What is in a pipe now. */
function takeFrom(reader: number): string {
  const buffer = Buffer.alloc(MIB);
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

const lineOf = (number: number) => `${String(number).padStart(7, '0')} ${'x'.repeat(100)}\n`;

describe('lines of the log', () => {
  test('come whole and in order, when the reader stood still for a while, with the number of those dropped in the gap', async () => {
    const { reader, writer } = pipe();
    const destination = destinationOn(writer);
    const before = process.memoryUsage().rss;
    const sent = 200_000;
    for (let number = 0; number < sent; number++) destination.write(lineOf(number));
    expect(destination.dropped).toBeGreaterThan(sent / 2); // 22 MB, of which 8 may wait
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
    let text = '';
    const read = (end: string) =>
      eventually(`the reader has read ${end}`, () => {
        text += takeFrom(reader);
        return text.includes(end);
      });
    await read('dropped');
    destination.write('after it\n');
    await read('after it');
    const taken = Array.from({ length: sent - destination.dropped }, (_, number) => lineOf(number));
    expect(text === `${taken.join('')}dropped ${destination.dropped}\nafter it\n`).toBe(true);
  });

  test('go on, when one is larger than all that may wait', async () => {
    const path = join(directory, 'log');
    const destination = destinationOn(open(path, 'a'));
    for (const line of ['one\n', 'x'.repeat(9 * MIB), 'two\n']) destination.write(line);
    await eventually('all is written', () => readFileSync(path, 'utf8') === 'one\ndropped 1\ntwo\n');
  });

  test('wait, when the disk is full, and are written whole once there is room', async () => {
    const disk = mountSmallDisk('size=1m');
    if (!disk) return;
    cleanUps.push(() => disk.remove());
    const path = join(disk.path, 'log');
    const destination = destinationOn(open(path, 'a'));
    destination.write('before\n');
    await eventually('it is written', () => readFileSync(path, 'utf8') === 'before\n');
    disk.fill();
    for (let number = 0; number < 100; number++) destination.write(lineOf(number));
    await destination.flush(); // ends, though nothing can be written
    disk.clear();
    const expected = `before\n${Array.from({ length: 100 }, (_, number) => lineOf(number)).join('')}`;
    await eventually('they are written', () => readFileSync(path, 'utf8') === expected);
    expect(destination.dropped).toBe(0);
  });

  test('go to the next reader, when the one before is gone', async () => {
    const { path, reader, writer } = pipe();
    const destination = destinationOn(writer);
    closeSync(reader);
    destination.write('for the next\n');
    await destination.flush();
    const next = open(path, O_RDONLY | O_NONBLOCK);
    let text = '';
    await eventually('the next one reads', () => {
      text += takeFrom(next);
      return text === 'for the next\n';
    });
  });
});

const LOGS = `
  const { openLog } = await import('${new URL('../../src/base/log.ts', import.meta.url)}');
  const { log, flush } = openLog({ LOG_LEVEL: 'info' });
  for (let number = 0; number < 1000; number++) log.fatal({ number }, 'a line of some length')`;

function spawnOn(stdout: number, code: string) {
  const args = ['--input-type=module', '-e', `${LOGS}; ${code}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'ignore'] });
  cleanUps.push(() => child.kill('SIGKILL'));
  return once(child, 'exit').then(([exit, signal]): unknown => exit ?? signal);
}

/** What stdout may lead to, opened for a program that starts. */
const outputs = {
  'a full disk': () => open('/dev/full', 'a'),
  'a reader that stands still': () => {
    const { writer } = pipe();
    stuff(writer);
    return writer;
  },
  'a reader that is gone': () => {
    const { reader, writer } = pipe();
    closeSync(reader);
    return writer;
  },
} as const;

describe('a program whose log cannot be written', () => {
  const ends = [
    ['throw undefined', 1],
    ['process.exit(3)', 3],
    ['await flush()', 0],
  ] as const;
  test.each(Object.keys(outputs) as (keyof typeof outputs)[])(
    'ends in about a second, when it logs to %s, however it does',
    async (output) => {
      const stdout = outputs[output]();
      for (const [code, exit] of ends) {
        const began = performance.now();
        expect(await spawnOn(stdout, code)).toBe(exit);
        expect(performance.now() - began).toBeLessThan(10_000); // the start of a program included
      }
    },
  );

  test('goes on, when its reader was stopped by SIGSTOP, and gives its lines to it afterwards', async () => {
    const into = join(directory, 'read');
    const { path, writer } = pipe();
    const reader = spawn('cat', [path], { stdio: ['ignore', openSync(into, 'w'), 'ignore'] });
    cleanUps.push(() => reader.kill('SIGKILL'));
    reader.kill('SIGSTOP');
    const exited = spawnOn(
      writer,
      "for (let n = 0; n < 20_000; n++) log.info('more'); setTimeout(() => log.info('still here'), 300)",
    );
    await new Promise((resolve) => setTimeout(resolve, 600));
    reader.kill('SIGCONT');
    expect(await exited).toBe(0);
    await eventually('the last line has come', () => readFileSync(into, 'utf8').includes('still here'));
  });
});

test.each(["process.once('exit', () => log.info({ number: 1000 }, 'the last'))", 'process.exit(0)', ''])(
  'every line gets out, when a program logs a thousand and ends at once: %s',
  async (code) => {
    const path = join(directory, 'log');
    expect(await spawnOn(open(path, 'a'), code)).toBe(0);
    const numbers = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).number);
    const count = code.includes('1000') ? 1001 : 1000;
    expect(numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: count }, (_, n) => n));
  },
);

test('a text that a terminal would obey is shown by escapes, when it is logged', async () => {
  const path = join(directory, 'log');
  expect(await spawnOn(open(path, 'a'), "log.info({ path: '\\u001b[2J\\u202e' }, 'a\\u009bb')")).toBe(0);
  const line = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1);
  expect(line).toContain('"path":"\\u001b[2J\\u202e","msg":"a\\u009bb"');
});
