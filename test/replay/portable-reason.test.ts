import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { textOf } from '../../src/base/thrown.ts';
import { portable } from '../../src/replay/portable-reason.ts';
import { testOfFiles } from '../support/engine.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { placeForCopy } from '../support/place-for-copy.ts';
import { copyProgram } from '../support/program-copy.ts';
import { runCli } from '../support/run-cli.ts';
import { runs } from '../support/sizes.ts';

const own = fileURLToPath(new URL('../../', import.meta.url));

describe('a reason', () => {
  test.each([
    ['a path of this checkout', `open '${own}data/x.json'`, "open 'data/x.json'"],
    ['the folder of this checkout', `boom in ${own.slice(0, -1)}`, 'boom in .'],
    [
      'a URL of this checkout',
      `${new URL('../../package.json', import.meta.url)}:3:14 broke`,
      'package.json broke',
    ],
    ['a path of another checkout', 'in /srv/qa/kit/src/handlers/media.ts:3:14', 'in src/handlers/media.ts'],
    ['a checkout below a folder src', 'in /srv/src/kit/src/handlers/media.ts:3', 'in src/handlers/media.ts'],
    ['a URL of another checkout', 'file:///srv/kit/src/handlers/a.ts?t=17:3:14', 'src/handlers/a.ts'],
    ['a path of Windows', 'at C:\\Users\\qa\\kit\\src\\handlers\\media.ts:3:14', 'at src/handlers/media.ts'],
    ['a URL of Windows', 'in file:///D:/kit/src/handlers/media.ts:3:14', 'in src/handlers/media.ts'],
    ['a quoted path of Windows', "open 'C:\\\\Program Files\\\\kit\\\\x.json'", "open '<path>/x.json'"],
    ['a dependency', 'in /a/kit/node_modules/pg/src/client.js:1:2', 'in node_modules/pg/src/client.js'],
    ['a path outside of all', "ENOENT: open '/tmp/kit-Ab12/file'", "ENOENT: open '<path>/file'"],
    ['a path with letters of a language', 'in /srv/jörg/kit/src/handlers/a.ts:1', 'in src/handlers/a.ts'],
    ['an IPv4 address', 'connect ECONNREFUSED 127.0.0.1:4010', 'connect ECONNREFUSED <address>'],
    ['an IPv6 address', 'connect ECONNREFUSED ::1:4010', 'connect ECONNREFUSED <address>'],
    ['every address', 'address in use :::3000', 'address in use <address>'],
    ['an address in brackets', 'http://[fe80::1%eth0]:80/v2', 'http://<address>/v2'],
    ['a whole IPv6 address', 'to 2001:db8:0:0:0:0:0:1.', 'to <address>.'],
    ['localhost', 'http://localhost:4010/v2/sites', 'http://<address>/v2/sites'],
    ['an address in memory', 'at 0x7ffeabc0', 'at <address>'],
    ['ISO times', 'from 2026-11-19T12:00:00.123Z to 2026-11-19 13:00:00+01:00', 'from <time> to <time>'],
    ['a time of HTTP', 'until Thu, 19 Nov 2026 12:00:00 GMT', 'until <time>'],
    ['a time as Date writes it', `at ${new Date(0)}`, 'at <time>'],
    ['milliseconds since the epoch', 'at 1763550000123', 'at <time>'],
    ['a duration', 'took 153 ms, then 2.5s', 'took <duration>, then <duration>'],
    ['a UUID', 'request 550e8400-e29b-41d4-a716-446655440000', 'request <id>'],
    ['the id of a process', 'the worker (pid 5354) ended, pid: 12', 'the worker (pid <id>) ended, pid: <id>'],
    ['the id of an event', 'event mhz8qyo0-5c1f0a4b2d3e4f506172 is late', 'event <id> is late'],
    ['a digest', 'etag "d41d8cd98f00b204e9800998ecf8427e"', 'etag "<id>"'],
  ])('loses what is of one machine or run, when it has %s', (_what, given, expected) => {
    expect(portable(given)).toBe(expected);
  });

  test.each([
    'a newer state of channel Ny05CEfj is known',
    'unknown kind "media_renamed"',
    'GET /v2/sites/9KboGBFu/webhooks/ gave 404',
    'Unexpected token } in JSON at position 57 (line 1 column 58)',
    'invalid payload: media_id: Too small: expected string to have >=1 characters',
    'version 1.2.3, ratio 10/20, std::vector, and/or 12:30',
    'no handler for media_available',
  ])('stays as it is, when it is %j', (reason) => {
    expect(portable(reason)).toBe(reason);
  });

  test('keeps names, messages, codes and causes, when it is a stack with causes, but no frame of Node and no position', () => {
    const stack = (root: string, port: number, internal: string) => `TypeError: fetch failed
${internal}    at async media_available (${root}src/handlers/media.ts:12:5)
    at async Promise.all (index 0)
    at async settle (${root}src/dispatch/run-handler.ts:99:21)
caused by: AggregateError (ECONNREFUSED)
    [Error: connect ECONNREFUSED ::1:${port}, Error: connect ECONNREFUSED 127.0.0.1:${port}]
${internal}    at internalConnectMultiple (node:net:1122:18)`;
    const here = stack('file:///srv/one/', 4010, '    at node:internal/deps/undici/undici:13510:13\n');
    const there = stack(
      'C:\\two of them\\',
      53_124,
      '    at process.task (node:internal/process/task_queues:105:5)\n',
    );
    expect(portable(here)).toBe(`TypeError: fetch failed
    at async media_available (src/handlers/media.ts)
caused by: AggregateError (ECONNREFUSED)
    [Error: connect ECONNREFUSED <address>, Error: connect ECONNREFUSED <address>]`);
    expect(portable(there.replaceAll('\\src/', '\\src\\'))).toBe(portable(here));
  });

  test('is the same in two checkouts, when their paths are of other lengths and both were cut at 4,000 characters', () => {
    const cut = (root: string) => {
      const frames = Array.from(
        { length: 30 },
        (_, n) => `    at step${n} (${root}/src/handlers/deep.ts:${n}:1)`,
      );
      const blocks = ['one', 'two', 'three'].map((name) =>
        [`caused by: Error: ${name}`, ...frames].join('\n'),
      );
      return blocks.join('\n').slice(0, 4000);
    };
    expect(portable(cut('/srv/kit'))).toBe(
      portable(cut('/srv/a-much-longer-name-of-a-directory/with-more/kit')),
    );
  });

  test('is the same in two checkouts, when the longer paths of one leave room for fewer frames', () => {
    const cause = new Error('gone');
    const error = new Error('the page is not there', { cause });
    const recorded = (root: string, frames: number) => {
      const lines = Array.from(
        { length: frames },
        (_, n) => `    at step${n} (${root}/src/handlers/deep.ts:${n}:1)`,
      );
      error.stack = ['Error: the page is not there', ...lines].join('\n');
      cause.stack = ['Error: gone', ...lines].join('\n');
      return textOf(error);
    };
    const [short, long] = [recorded('/srv/kit', 10), recorded(`/srv/${'deep/'.repeat(40)}kit`, 10)];
    expect(short.split('\n').length).not.toBe(long.split('\n').length);
    expect(portable(short)).toBe(portable(long));
    expect(portable(short)).toContain('caused by: Error: gone');
  });

  test('is portable already, when it was made so, whatever it says', () => {
    const parts = fc.constantFrom(
      ...[
        '/srv/kit/src/handlers/a.ts:1:2',
        'C:\\a\\b.ts',
        '::1',
        '127.0.0.1:80',
        '2026-11-19T12:00:00Z',
        'at',
        '(',
        ')',
      ],
      ...[
        "'",
        '"',
        '[',
        ']',
        ':',
        '/',
        '\\',
        '<path>',
        '<id>',
        '12 ms',
        '0x1f',
        '\n    at ',
        'file://',
        'x.ts:1',
        '?',
      ],
    );
    const texts = fc.oneof(
      fc.string(),
      fc.array(fc.oneof(parts, fc.string({ maxLength: 5 }))).map((all) => all.join(' ')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const once = portable(text);
        expect(portable(once)).toBe(once);
      }),
      { numRuns: runs(5_000) },
    );
  });
});

describe('two reports', () => {
  const desk = deskForEachTest();
  jest.setTimeout(90_000); // copies of the program on a busy machine
  const made: string[] = [];
  afterEach(() => {
    for (const directory of made.splice(0)) rmSync(directory, { recursive: true });
  });

  const handlers = `
    import { randomUUID } from 'node:crypto';
    import { readFile } from 'node:fs/promises';
    import { defineHandlers } from '${'..'}/index.ts';
    export const handlers = defineHandlers({
      async media_available(event) {
        const number = Number(event.media_id.slice(-3));
        if (number % 3 === 0) await readFile(import.meta.dirname + '/nothing-' + number + '.json');
        if (number % 3 === 1) await fetch('http://127.0.0.1:1/' + event.media_id);
        throw new Error('request ' + randomUUID() + ' at ' + new Date().toISOString(), {
          cause: new Error('of ' + import.meta.filename),
        });
      },
    });`;

  /** A checkout of its own, of a path of its own length, with handlers that fail. */
  function checkout(name: string, changed = handlers): string {
    const copy = copyProgram();
    const parent = placeForCopy(`checkout-${made.length}`);
    const directory = join(parent, name);
    made.push(parent);
    mkdirSync(join(directory, '..'), { recursive: true });
    renameSync(copy, directory);
    writeFileSync(join(directory, 'src/handlers/index.ts'), changed);
    cpSync(join(desk().directory, 'receiver.db'), join(directory, 'receiver.db'));
    cpSync(join(desk().directory, 'receiver.db.key'), join(directory, 'receiver.db.key'));
    return directory;
  }

  async function replayed(directory: string, report: string, ...more: string[]): Promise<string> {
    const path = desk().path(report);
    const args = ['events', 'replay', '--all', '--run', '--fail-on', 'none', '--report', path, ...more];
    const env = {
      DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
      RETRY_MAX_ATTEMPTS: '1',
      LOG_LEVEL: 'fatal',
    };
    const { run: program } = await import(join(directory, 'src/cli/main.ts'));
    const run = await runCli(args, { program, cwd: directory, env });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/^dead +30$/m) });
    return path;
  }

  testOfFiles(
    'of one recording are alike with their reasons, when two checkouts made them, and tell a changed handler',
    async () => {
      await desk().fill(30);
      const [one, two] = [checkout('a'), checkout('a-longer-name/of another')];
      const first = await replayed(one, 'first');
      const again = await replayed(one, 'again');
      const other = await replayed(two, 'other');
      const compare = (...args: string[]) => desk().events(['compare', ...args, '--reasons']);
      expect(await compare(first, again)).toMatchObject({ code: 0, stdout: '' });
      expect(await compare(first, other)).toEqual({
        code: 0,
        stdout: '',
        stderr: '30 events ended alike, 0 differently, 0 are in A only, 0 in B only\n',
      });
      expect(desk().lines('first')[0].reason).toContain("open 'src/handlers/nothing-0.json'");

      const exact = await replayed(one, 'exact', '--exact');
      expect(desk().lines('exact')[0].reason).toContain(`open '${one}/src/handlers/nothing-0.json'`);
      expect(await compare(first, exact)).toMatchObject({ code: 0 });
      expect((await compare(first, exact, '--exact')).code).toBe(1);

      const changed = await replayed(
        checkout('b', handlers.replace("'request '", "'another request '")),
        'changed',
      );
      expect((await compare(first, changed)).code).toBe(1);
    },
  );

  test.each([
    [['replay', '--all', '--exact'], '--exact is for --report: give both'],
    [['compare', 'a', 'b', '--exact'], '--exact is for --reasons: give both'],
  ])('are refused, when called as %j, with 2', async (args, message) => {
    expect(await desk().events(args)).toEqual({ code: 2, stdout: '', stderr: `hookkit: ${message}\n` });
  });
});
