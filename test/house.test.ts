import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { codeOf, filesBelow, importsOf, roomOf, type SourceFile } from './support/source-files.ts';

/** What is in src/handlers/ is its owner's: these rules say nothing about it. */
const isOurs = ({ path }: SourceFile) => !path.startsWith('src/handlers/');
const sources = filesBelow('src', '.ts').filter(isOurs);
const manifest: { dependencies: object } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);
const inRoom = (room: string) => sources.filter(({ path }) => roomOf(path) === room);

/** Each import of a file that breaks a rule, as `file -> target`. */
function breaches(files: readonly SourceFile[], isForbidden: (target: string) => boolean): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter(({ target, specifier }) => isForbidden(target ?? specifier))
      .map(({ target, specifier }) => `${file.path} -> ${target ?? specifier}`),
  );
}

/** The ways to read the time or set a timer beside a Clock. To go on in the next turn of the event loop is none. */
const TIME_READS = [
  /\bDate\s*\.\s*now\b/,
  /\bnew\s+Date\s*\(\s*\)/,
  /(?<!new\s+)\bDate\(\)/,
  /\bperformance\s*\./,
  /\bperf_hooks\b/,
  /\bhrtime\b/,
  /\bAbortSignal\s*\.\s*timeout\b/,
  /(?<!\.)\bset(Timeout|Interval)\b/,
  /\bglobalThis\s*\.\s*set(Timeout|Interval)\b/,
  /\{(?!\s*setImmediate\s*\})[^}]*\}\s*from\s*'node:timers/,
];
const asksForTime = (code: string) => TIME_READS.some((read) => read.test(code));

describe('the rules of the house', () => {
  test('are checked on files that are there, when imports are read', () => {
    for (const room of ['mock', 'receiver', 'cli', 'store', 'dispatch', 'notification']) {
      expect(inRoom(room).length).toBeGreaterThan(1);
    }
    const all = sources.flatMap(importsOf);
    expect(all.length).toBeGreaterThan(sources.length);
    expect(
      importsOf({
        path: 'src/store/sqlite/x.ts',
        text: "new Worker(new URL('./store-thread.ts', import.meta.url))",
      }),
    ).toEqual([{ specifier: './store-thread.ts', target: 'src/store/sqlite/store-thread.ts' }]);
    const text =
      "// import 'a'\nimport {\n  b,\n} from './b.ts';\nexport * from '../c.ts';\nawait import('d');\nimport 'e';";
    expect(
      importsOf({ path: 'src/x/y.ts', text }).map(({ target, specifier }) => target ?? specifier),
    ).toEqual(['src/x/b.ts', 'src/c.ts', 'e', 'd']);
  });

  test('keep the mock apart: it imports nothing of receiver, store or dispatch', () => {
    expect(breaches(inRoom('mock'), (target) => /^src\/(receiver|store|dispatch)\//.test(target))).toEqual(
      [],
    );
  });

  test('keep the receiver apart: it imports nothing of dispatch or handlers', () => {
    expect(breaches(inRoom('receiver'), (target) => /^src\/(dispatch|handlers)\//.test(target))).toEqual([]);
  });

  test('keep the inspector apart: one line mounts it, and nothing else imports it', () => {
    const others = sources.filter(({ path }) => roomOf(path) !== 'inspector');
    expect(breaches(others, (target) => target.startsWith('src/inspector/'))).toEqual([
      'src/start.ts -> src/inspector/index.ts',
    ]);
  });

  test('keep recipes and sample handlers to the door for handlers, the provider clients and the notifications', () => {
    const samples = sources.filter(({ path }) => path === 'src/cli/demo/handlers.ts');
    expect(samples).toHaveLength(1);
    const allowed = /^src\/(index\.ts$|provider\/|notification\/|recipes\/)/;
    const isForbidden = (target: string) => target.startsWith('src/') && !allowed.test(target);
    expect(breaches([...samples, ...inRoom('recipes')], isForbidden)).toEqual([]);
  });

  test('leave src/handlers/ to its owner: nothing imports it, HANDLERS alone names it', () => {
    const tests = filesBelow('test', '.ts').filter(({ path }) => path !== 'test/house.test.ts');
    const all = [...sources, ...tests, ...filesBelow('bench', '.ts')];
    expect(breaches(all, (target) => target.startsWith('src/handlers'))).toEqual([]);
  });

  test('keep the base below everything: it imports no room', () => {
    expect(inRoom('base').length).toBeGreaterThan(1);
    expect(breaches(inRoom('base'), (target) => /^src\/(?!base\/)/.test(target))).toEqual([]);
  });

  test('keep the notifications next to the base: they import no other room', () => {
    const isOther = (target: string) => /^src\/(?!notification\/|base\/)/.test(target);
    expect(breaches(inRoom('notification'), isOther)).toEqual([]);
  });

  test('start without what they do not need: nobody imports values of node:http, which would load fetch', () => {
    const valueImport = /^import (?!type )[^;]*'node:http';/m;
    expect(valueImport.test("import {\n  createServer,\n} from 'node:http';")).toBe(true);
    expect(valueImport.test("import type { Server } from 'node:http';")).toBe(false);
    expect(sources.filter(({ text }) => valueImport.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('take every time and timer from a Clock: nobody else asks the machine, but base/ and the scripts of pages', () => {
    const reads = [
      'const t = Date.now();',
      'performance.now()',
      'performance . now()',
      'new Date()',
      'Date()',
      'setTimeout(fn, 5)',
      'globalThis.setInterval(fn, 5)',
      'process.hrtime.bigint()',
      "import { setTimeout as sleep } from 'node:timers/promises';",
      "import { scheduler } from 'node:timers/promises';",
      "import { performance } from 'node:perf_hooks';",
      'AbortSignal.timeout(5)',
    ];
    expect(reads.filter((text) => !asksForTime(text))).toEqual([]);
    const others = [
      'clock.now()',
      'new Date(clock.now())',
      'z.iso.datetime()',
      'server.setTimeout(5)',
      "import { setImmediate } from 'node:timers/promises';",
      'setImmediate(next)',
      'const { data: Date } = x; headersTimeout: 5',
    ];
    expect(others.filter(asksForTime)).toEqual([]);
    const askers = sources.filter((file) => asksForTime(codeOf(file))).map(({ path }) => path);
    const elsewhere = askers.filter((path) => !/^src\/(base|inspector\/assets)\//.test(path));
    // A handler is its owner's, and the samples of the demo show what one may look like.
    expect(elsewhere).toEqual(['src/cli/demo/handlers.ts']);
  });

  test('keep virtual time to the mock and tests: what a server loads imports the machine clock alone', () => {
    const users = breaches(sources, (target) => /^src\/base\/(virtual-clock|timer-queue)\.ts$/.test(target));
    const others = users.filter((user) => !/^src\/(mock\/|cli\/mock|base\/virtual-clock)/.test(user));
    expect(others).toEqual([]);
  });

  test('let data walk in one direction: no room imports itself over others', () => {
    const edges = new Map<string, Set<string>>();
    for (const file of sources) {
      for (const { target } of importsOf(file)) {
        if (!target?.startsWith('src/') || roomOf(target) === roomOf(file.path)) continue;
        edges.set(roomOf(file.path), (edges.get(roomOf(file.path)) ?? new Set()).add(roomOf(target)));
      }
    }
    const cycles: string[] = [];
    const visit = (room: string, way: readonly string[]): void => {
      if (way.includes(room)) cycles.push([...way.slice(way.indexOf(room)), room].join(' -> '));
      else for (const next of edges.get(room) ?? []) visit(next, [...way, room]);
    };
    for (const room of edges.keys()) visit(room, []);
    expect(cycles).toEqual([]);
  });

  test('print in one place, which makes visible what a terminal would obey: nobody else writes to it', () => {
    const writes =
      /\b(process|terminal\(\))\s*\.\s*(stdout|stderr)\b(?!\s*\.\s*(isTTY|fd)\b)|\{[^{}]*\bstd(out|err)\b[^{}]*\} = (process|terminal\(\))|\bconsole\s*\./;
    expect(writes.test('process.stdout.write(text)')).toBe(true);
    expect(writes.test('const { stdin, stdout } = terminal();')).toBe(true);
    expect(writes.test('terminal().stderr.write(text)')).toBe(true);
    expect(writes.test('const { isTTY } = process.stderr;')).toBe(true);
    expect(writes.test('if (process.stderr.isTTY) say(text)')).toBe(false);
    const printers = sources.filter((file) => writes.test(codeOf(file))).map(({ path }) => path);
    const scripts = printers.filter((path) => !path.startsWith('src/inspector/assets/'));
    expect(scripts.toSorted()).toEqual([
      // The progress bar is made of what a terminal obeys, and of nothing of anybody's.
      'src/cli/events/progress.ts',
      'src/cli/print.ts',
      'src/cli/stderr-log.ts', // its lines pass through visibleLog
      'src/cli/terminal.ts', // hands the streams out
    ]);
    const loggers = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\bpino\(.*/g)].map(([call]) => `${path}: ${call}`),
    );
    expect(loggers.filter((call) => !/visibleLog|'silent'/.test(call))).toEqual([]);
    expect(loggers.length).toBeGreaterThan(1);
  });

  test('let only config.ts read the environment', () => {
    const readers = sources.filter((file) =>
      /\bprocess\s*(\.|\?\.|\[)\s*['"]?(env|loadEnvFile)\b/.test(codeOf(file)),
    );
    expect(readers.map(({ path }) => path)).toEqual(['src/config.ts']);
    const others = sources.filter((file) =>
      /\{[^}]*\b(env|loadEnvFile)\b[^}]*\}\s*(=\s*process\b|from\s*'node:process')/.test(codeOf(file)),
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  test('have every import end at a file that is there, with its extension', () => {
    const known = new Set(filesBelow('.', '.ts', '.js', '.json').map(({ path }) => path));
    const tests = filesBelow('test', '.ts').filter(({ path }) => path !== 'test/house.test.ts');
    const all = [...sources, ...tests, ...filesBelow('bin', '.js')];
    expect(breaches(all, (target) => /^(src|test|bin|\.\.)\//.test(target) && !known.has(target))).toEqual(
      [],
    );
  });

  test('have the service run on its dependencies alone: src imports no package that is not one of them', () => {
    const packages = new Set(Object.keys(manifest.dependencies));
    const nameOf = (specifier: string) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
    const isForeign = (target: string) => !/^(src\/|node:|\.)/.test(target) && !packages.has(nameOf(target));
    expect(breaches(sources, isForeign)).toEqual([]);
  });
});

describe('nothing in the project', () => {
  const folders = ['src', 'bin', 'docs', 'bench', 'deploy', '.ci'];
  const files = [
    ...folders.flatMap((folder) => filesBelow(folder, '')).filter(isOurs),
    ...filesBelow('.', '.md', '.json', '.js', 'Dockerfile', '.env.example').filter(
      ({ path }) => !path.includes('/'),
    ),
  ];

  test('names a relative path that leads out of it', () => {
    const outside = files.flatMap(({ path, text }) => {
      const depth = path.split('/').length - 1;
      // What a document shows of other files is relative to those; only its links are its own.
      const climbs = path.endsWith('.md') ? /(?<=\]\()(?:\.\.\/)+/g : /(?:\.\.\/)+/g;
      const steps = [...text.matchAll(climbs)].map(([climb]) => climb.length / 3);
      return steps.filter((climb) => climb > depth).map((climb) => `${path}: ${climb} levels up`);
    });
    expect(outside).toEqual([]);
  });

  test('names a folder of somebody in particular', () => {
    const personal = /(?<![\w.:/-])\/(home|root|Users|work|workspace|private)\/[\w.-]+/g;
    const named = files.flatMap(({ path, text }) =>
      [...text.matchAll(personal)].map(([name]) => `${path}: ${name}`),
    );
    expect(named).toEqual([]);
  });
});
