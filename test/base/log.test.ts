import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { LogDestination } from '../../src/base/log.ts';
import { createInspector } from '../../src/inspector/index.ts';
import { Metrics } from '../../src/inspector/watch/metrics.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { programEnv } from '../support/sample-handlers.ts';
import { size, some } from '../support/sizes.ts';
import { mountSmallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;
let directory: string;
let cleanUps: (() => void)[] = [];
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => {
  for (const cleanUp of cleanUps.reverse()) cleanUp();
  cleanUps = [];
  for (const fd of opened) close(fd);
  rmSync(directory, { recursive: true, force: true });
});

const opened = new Set<number>();

function open(path: string, flags: number | string): number {
  const fd = openSync(path, flags);
  opened.add(fd);
  return fd;
}

function close(fd: number): void {
  opened.delete(fd);
  closeSync(fd);
}

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
  const buffer = Buffer.alloc(1024 * 1024);
  try {
    return buffer.toString('utf8', 0, readSync(reader, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}

/** A destination; when it takes lines again, it writes `dropped N` into the gap. After its test it tries no more. */
function destinationOn(fd: number): LogDestination {
  let isOver = false;
  cleanUps.push(() => {
    isOver = true;
  });
  const clock: Clock = {
    now: systemClock.now,
    after: (ms, fn) => systemClock.after(ms, () => isOver || fn()),
  };
  const onResumed = (lines: number) => destination.write(`dropped ${lines}\n`);
  const destination = new LogDestination({ fd, clock, onResumed });
  return destination;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes that JavaScript keeps alive. V8 frees the bytes of buffers beside the program: the next collection waits for it. */
function kept(): number {
  for (let round = 0; round < 3; round++) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const lineOf = (number: number) => `${String(number).padStart(7, '0')} ${'ä'.repeat(100)}\n`;

describe('lines of the log', () => {
  test('come whole and in order, when the reader stood still for a while, with the number of those dropped in the gap', async () => {
    const { reader, writer } = pipe();
    const destination = destinationOn(writer);
    const memory = kept();
    const sent = size({ small: 120_000, full: 200_000 });
    for (let number = 0; number < sent; number++) destination.write(lineOf(number));
    expect(destination.dropped).toBeGreaterThan(sent / 2); // some 200 bytes each: most of them
    expect(kept() - memory).toBeLessThan(16 * 1024 * 1024);
    let text = '';
    await eventually('the reader has caught up', () => {
      text += takeFrom(reader);
      return text.includes('dropped');
    });
    destination.write('after it\n');
    await eventually('all is read', () => {
      text += takeFrom(reader);
      return text.endsWith('after it\n');
    });
    const taken = sent - destination.dropped;
    const expected = Array.from({ length: taken }, (_, number) => lineOf(number));
    expect(text === `${expected.join('')}dropped ${destination.dropped}\nafter it\n`).toBe(true);
  });

  test('are held and dropped by size, when nothing takes them, and never above 16 MB', () => {
    const { writer } = pipe();
    stuff(writer);
    for (const length of some(2, [1, 100, 10_000, 1_000_000])) {
      const memory = kept();
      const destination = destinationOn(writer);
      const line = 'x'.repeat(length);
      let taken = 0;
      for (; destination.dropped === 0; taken++) {
        destination.write(line);
        // As whoever decodes a token does: what waits must not keep Node's pool, of which it would be a part.
        if (taken % 100 === 0) Buffer.from('y'.repeat(30_000));
      }
      expect(taken * length).toBeGreaterThan(7 * 1024 * 1024);
      expect(taken * length).toBeLessThan(9 * 1024 * 1024);
      expect(kept() - memory).toBeLessThan(16 * 1024 * 1024);
    }
    const destination = destinationOn(writer);
    destination.write('x'.repeat(20_000_000));
    expect(destination.dropped).toBe(1);
  });

  test.each([0, 1, 1000])(
    'go on, when one is larger than all that may wait and %d wait before it',
    async (before) => {
      const path = join(directory, 'log');
      const destination = destinationOn(open(path, 'a'));
      const lines = Array.from({ length: before }, (_, number) => lineOf(number));
      for (const line of lines) destination.write(line);
      for (let round = 0; round < 2; round++) destination.write(`${'x'.repeat(9_000_000)}\n`);
      destination.write('after it\n');
      const told = `${lines.join('')}dropped 1\ndropped 1\nafter it\n`;
      await eventually('all is written', () => readFileSync(path, 'utf8') === told);
      expect(destination.dropped).toBe(2);
    },
  );

  test('are all written at the end, when one is larger than all that may wait, also those that come later', () => {
    const path = join(directory, 'log');
    const destination = destinationOn(open(path, 'a'));
    destination.writeRest(); // as the process ends
    for (let round = 0; round < 4; round++) {
      destination.write(`${'y'.repeat(4_000_000)}\n`);
      destination.write(`${'x'.repeat(9_000_000)}\n`);
      destination.write('after it\n');
    }
    const round = `${'y'.repeat(4_000_000)}\ndropped 1\nafter it\n`;
    expect(readFileSync(path, 'utf8') === round.repeat(4)).toBe(true);
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
    // More than the rest of the page that the file has already.
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
    close(reader);
    destination.write('for the next\n');
    await destination.flush();
    const next = open(path, O_RDONLY | O_NONBLOCK);
    let text = '';
    await eventually('the next one reads', () => {
      text += takeFrom(next);
      return text === 'for the next\n';
    });
  });

  test('are counted in the metrics, when some were dropped', async () => {
    const overview = {
      tallies: [],
      quarantined: 0,
      quarantineLost: 0,
      oldestPendingAt: undefined,
      lag: { events: 0, ms: 0 },
    };
    const metrics = new Metrics(() => 7);
    for (const _ of [1, 2]) {
      expect(await metrics.text({ overview, unreadableSecrets: 0 }, 0)).toMatch(
        /^webhook_log_lines_dropped_total 7$/m,
      );
    }
    expect(createInspector(systemClock, () => 7).observer).toMatchObject({ metrics: expect.any(Metrics) });
  });
});

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
    close(reader);
    return writer;
  },
};

function spawnOn(stdout: number, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, args, {
    cwd: directory,
    env: { ...programEnv, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', stdout, 'inherit'],
  });
  const exited = once(child, 'exit').then(([code, signal]): unknown => code ?? signal);
  cleanUps.push(() => child.kill('SIGKILL'));
  return { child, exited } satisfies { child: ChildProcess; exited: Promise<unknown> };
}

type Output = keyof typeof outputs;

describe('with a log that cannot be written', () => {
  test.each(some<Output>(1, ['a reader that stands still', 'a full disk', 'a reader that is gone']))(
    'a server acknowledges, handles and is well, when it logs much to %s, and ends in order at SIGTERM',
    async (output) => {
      const { url, close: free } = await listeningOn(createServer());
      await free();
      const { child, exited } = spawnOn(outputs[output](), [cli, 'serve'], {
        HOST: '127.0.0.1',
        PORT: new URL(url).port,
        ADMIN_PORT: '0',
        LOG_LEVEL: 'debug',
        WEBHOOK_SECRET: SECRET,
        SHUTDOWN_GRACE_MS: '100',
      });
      const answers = async (path: string) => (await fetch(url + path).catch(() => undefined))?.status;
      await eventually('it listens', async () => (await answers('/healthz')) === 200);
      for (let number = 0; number < 20; number++)
        expect((await deliver(url, bodyOf(number))).status).toBe(200);
      expect(await answers('/healthz')).toBe(200);
      expect(await answers('/readyz')).toBe(200);
      child.kill('SIGTERM');
      expect(await exited).toBe(0);
    },
  );

  test.each(
    some<[Output, string, string, number]>(3, [
      ['a full disk', 'by an error that nobody catches', 'throw undefined', 1],
      ['a full disk', 'by process.exit', 'process.exit(3)', 3],
      ['a full disk', 'by itself', '', 0],
      ['a reader that stands still', 'by process.exit', 'process.exit(3)', 3],
      ['a reader that stands still', 'by itself', '', 0],
      ['a reader that stands still', 'by an error that nobody catches', 'throw undefined', 1],
      ['a reader that is gone', 'by itself', '', 0],
      ['a reader that is gone', 'by process.exit', 'process.exit(3)', 3],
      ['a reader that is gone', 'by an error that nobody catches', 'throw undefined', 1],
    ]),
  )('a program that logs to %s ends, when it does so %s', async (output, _how, code, expected) => {
    const { exited } = spawnOn(outputs[output](), ['--input-type=module', '-e', `${LOGS}; ${code}`]);
    expect(await exited).toBe(expected);
  });
});

const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));
const LOGS = `
  const { openLog } = await import('${new URL('../../src/base/log.ts', import.meta.url)}');
  const { log } = openLog({ LOG_LEVEL: 'info' });
  for (let number = 0; number < 1000; number++) log.fatal({ number }, 'a line of some length')`;

test.each(
  some(1, ["process.once('exit', () => log.fatal({ number: 1000 }, 'the last'))", 'process.exit(0)', '']),
)('every line gets out, when a program logs a thousand and ends at once: %s', async (code) => {
  const { reader, writer } = pipe();
  const count = code.includes('1000') ? 1001 : 1000;
  const { exited } = spawnOn(writer, ['--input-type=module', '-e', `${LOGS}; ${code}`]);
  let text = '';
  await eventually('all lines are read', () => {
    text += takeFrom(reader);
    return text.split('\n').length > count;
  });
  expect(await exited).toBe(0);
  const numbers = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).number);
  expect(numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: count }, (_, n) => n));
});
