import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as door from '../src/index.ts';
import { mutations, placesOf } from './support/mutations.ts';
import { codeOf, filesBelow, importsOf, roomOf, type SourceFile } from './support/source-files.ts';

/** What is in src/handlers/ is its owner's: these rules say nothing about it. */
const isOurs = ({ path }: SourceFile) => !path.startsWith('src/handlers/');
const sources = filesBelow('src', '.ts').filter(isOurs);
const pathsOf = (files: readonly SourceFile[]) => files.map(({ path }) => path);

/** Each import of a file that breaks a rule, as `file -> target`. */
function breaches(files: readonly SourceFile[], isForbidden: (target: string) => boolean): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .map(({ target, specifier }) => target ?? specifier)
      .filter(isForbidden)
      .map((target) => `${file.path} -> ${target}`),
  );
}

/** What a handler may import, wherever it stands. */
const HANDLERS_MAY_IMPORT = /^src\/(index\.ts$|dispatch\/handler\.ts$|provider\/|notification\/|recipes\/)/;
const ENGINES = /^(src\/store\/(sqlite|postgres)\/|better-sqlite3$|pg$)/;

/** What the files below a folder must not import. */
const forbidden: Readonly<Record<string, (target: string) => boolean>> = {
  base: (target) => /^src\/(?!base\/)/.test(target),
  notification: (target) => /^src\/(?!notification\/|base\/)/.test(target),
  provider: (target) => /^src\/(?!provider\/|notification\/|base\/)/.test(target),
  mock: (target) => /^src\/(receiver|store|dispatch)\//.test(target),
  receiver: (target) => /^src\/(dispatch|handlers)\//.test(target),
  // It is told where to speak: it knows no command line, and no page; it sends to any receiver, and knows none.
  replay: (target) => /^src\/(cli|inspector|mock|receiver)\//.test(target) || target === 'commander',
  // The command line plays and prints it.
  demo: (target) => /^src\/(cli|inspector|receiver)\//.test(target) || target === 'commander',
  // The kit for the tests of handlers has no port, no page and no command.
  testing: (target) => /^src\/(cli|inspector|recipes|handlers|start\.ts|service\.ts)/.test(target),
  recipes: (target) => /^src\//.test(target) && !HANDLERS_MAY_IMPORT.test(target),
  // What both engines go by knows neither of them.
  'store/queue': (target) => ENGINES.test(target),
  'store/quarantine': (target) => ENGINES.test(target),
  'store/reports': (target) => ENGINES.test(target),
};

/** Rooms that nothing depends on: tests and the owner's handlers alone import them, and the command that is nothing without one. */
const LEAVES = { testing: ['src/cli/events/check.ts'], recipes: [] as string[] };

function brokenRules(files: readonly SourceFile[]): string[] {
  const below = Object.entries(forbidden).flatMap(([folder, isForbidden]) =>
    breaches(
      files.filter(({ path }) => path.startsWith(`src/${folder}/`)),
      isForbidden,
    ),
  );
  const ofLeaves = Object.entries(LEAVES).flatMap(([leaf, commands]) =>
    breaches(
      files.filter(({ path }) => roomOf(path) !== leaf && !commands.includes(path)),
      (target) => target.startsWith(`src/${leaf}/`),
    ),
  );
  return [...below, ...ofLeaves];
}

type Edges = ReadonlyMap<string, ReadonlySet<string>>;

/** A way that leads back to where it began; empty if there is none. */
function circleIn(edges: Edges): readonly string[] {
  const done = new Set<string>();
  const visit = (node: string, way: readonly string[]): readonly string[] => {
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node];
    if (done.has(node)) return [];
    for (const next of edges.get(node) ?? []) {
      const circle = visit(next, [...way, node]);
      if (circle.length > 0) return circle;
    }
    done.add(node);
    return [];
  };
  return [...edges.keys()].map((node) => visit(node, [])).find((circle) => circle.length > 0) ?? [];
}

/** What imports what, types included, by the name of each file. */
function edgesOf(files: readonly SourceFile[], nameOf: (path: string) => string): Edges {
  const edges = new Map<string, Set<string>>();
  for (const file of files) {
    const own = edges.get(nameOf(file.path)) ?? new Set();
    edges.set(nameOf(file.path), own);
    for (const { target } of importsOf(file)) {
      if (target?.startsWith('src/') && nameOf(target) !== nameOf(file.path)) own.add(nameOf(target));
    }
  }
  return edges;
}

/** The ways to read the time or set a timer beside a Clock. To go on in the next turn of the event loop is none. */
const TIME_READS = [
  /\bDate\.now\b/,
  /\bnew Date\(\)/,
  /\bperformance\./,
  /\bhrtime\b/,
  /\bAbortSignal\.timeout\b/,
  /(?<!\.)\bset(Timeout|Interval)\b/,
  /\{(?!\s*setImmediate\s*\})[^}]*\}\s*from\s*'node:timers/,
];

describe('the rules of the house', () => {
  test('say what each room may import, when every import of src is read, without a breach', () => {
    expect(sources.flatMap(importsOf).length).toBeGreaterThan(sources.length);
    for (const folder of Object.keys(forbidden))
      expect(pathsOf(sources).filter((path) => path.startsWith(`src/${folder}/`))).not.toEqual([]);
    expect(brokenRules(sources)).toEqual([]);
  });

  test('let no files, and no rooms, import each other in a circle', () => {
    expect(circleIn(edgesOf(sources, (path) => path))).toEqual([]);
    expect(circleIn(edgesOf(sources, roomOf))).toEqual([]);
  });

  test('keep the inspector apart: one line mounts it, and the command that prints its overview alone imports it, too', () => {
    const others = sources.filter(({ path }) => roomOf(path) !== 'inspector');
    expect(breaches(others, (target) => target.startsWith('src/inspector/')).toSorted()).toEqual([
      'src/cli/status.ts -> src/inspector/attention/attention.ts',
      'src/cli/status.ts -> src/inspector/pages/words.ts',
      'src/start.ts -> src/inspector/index.ts',
    ]);
  });

  test('leave src/handlers/ to its owner: nothing imports it, HANDLERS alone names it', () => {
    const tests = filesBelow('test', '.ts').filter(({ path }) => path !== 'test/house.test.ts');
    const all = [...sources, ...tests, ...filesBelow('bench', '.ts')];
    expect(breaches(all, (target) => target.startsWith('src/handlers'))).toEqual([]);
  });

  test('take every time and timer from a Clock: nobody else asks the machine, but base/ and the scripts of pages', () => {
    const askers = sources.filter((file) => TIME_READS.some((read) => read.test(codeOf(file))));
    const elsewhere = pathsOf(askers).filter((path) => !/^src\/(base|inspector\/assets)\//.test(path));
    // A handler is its owner's, and the samples of the demo and the recipes show what one may look like. The kit for tests puts
    // virtual timers in the place of the machine's.
    const allowed = ['src/demo/handlers.ts', 'src/testing/virtual-timers.ts'];
    expect(elsewhere.filter((path) => !path.startsWith('src/recipes/'))).toEqual(allowed);
  });

  test('let only config.ts read the environment', () => {
    const reads =
      /\bprocess\s*[.?[]+['"]?(env|loadEnvFile)\b|\{[^}]*\b(env|loadEnvFile)\b[^}]*\}\s*(=\s*process\b|from\s*'node:process')/;
    for (const way of ['process.env', "import { env } from 'node:process'", 'const { env } = process;'])
      expect(reads.test(way)).toBe(true);
    const readers = sources.filter((file) => reads.test(codeOf(file)));
    expect(pathsOf(readers)).toEqual(['src/config.ts']);
  });

  test('print in one place, which makes visible what a terminal would obey: nobody else writes to it', () => {
    const writes =
      /\b(process|terminal\(\))\.(stdout|stderr)\b(?!\.(isTTY|fd)\b)|\bstd(out|err)\b[^{}]*\} = (process|terminal\(\))|\bconsole\./;
    const printers = pathsOf(sources.filter((file) => writes.test(codeOf(file))));
    expect(printers.filter((path) => !path.startsWith('src/inspector/assets/'))).toEqual([
      'src/cli/dev.ts', // hands on what the terminal can do
      'src/cli/output.ts',
      'src/cli/with-handlers.ts', // its log has logFormat
    ]);
    const loggers = sources.flatMap(({ text }) => text.match(/\bpino\(.*/g) ?? []);
    expect(loggers.filter((call) => !/logFormat|'silent'/.test(call))).toEqual([]);
  });

  test('use the packages that an installation has, but for the one that is installed by hand', () => {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    const nameOf = (target: string) => target.split('/', target.startsWith('@') ? 2 : 1).join('/');
    const isForeign = (target: string) =>
      !/^(src\/|node:|\.)/.test(target) && !(nameOf(target) in manifest.dependencies);
    expect(breaches(sources, isForeign)).toEqual(['src/dev/pretty-log.ts -> pino-pretty']);
  });
});

test('nothing in the project names a folder of somebody in particular', () => {
  const folders = ['src', 'bin', 'docs', 'bench', 'deploy', 'pack', '.ci'];
  const files = folders.flatMap((folder) => filesBelow(folder, '')).filter(isOurs);
  const personal = /(?<![\w.:/-])\/(home|root|Users|work|workspace|private)\/[\w.-]+/;
  expect(pathsOf(files.filter(({ text }) => personal.test(text)))).toEqual([]);
});

/** `npm run test:mutations` breaks each rule, which takes minutes; here only whether it still can. */
test.each(Object.entries(mutations))('can be broken: %s', (_, mutation) => {
  const { change, noticedBy } = mutation;
  expect(placesOf(mutation)).toHaveLength(1);
  expect(change[1]).not.toBe(change[0]);
  expect(existsSync(noticedBy.split(': ')[0] ?? '')).toBe(true);
});

/** Says on stderr what a process of its own loads. */
const HOOK = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module';
  registerHooks({ load: (url, context, next) => (process.stderr.write(url + '\\n'), next(url, context)) });`)}`;

const loadedBy = (...args: readonly string[]) =>
  spawnSync(process.execPath, ['--import', HOOK, ...args], { encoding: 'utf8' }).stderr;

test('the door for handlers loads some files of its own and no package, so no Express and no SQLite', () => {
  const loaded = loadedBy('src/index.ts').trim().split('\n');
  expect(loaded.length).toBeLessThan(15);
  expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([]);
  expect(loadedBy('src/service.ts')).toContain('/node_modules/express/');
});

test('the door for handlers has what handlers are made of', () => {
  expect(Object.keys(door).toSorted()).toEqual([
    ...['KitError', 'ProviderError', 'combineHandlers', 'defineApp', 'defineHandlers', 'durationOf', 'fail'],
    ...['kindNames', 'retry', 'skip'],
  ]);
});

test('a command loads its own module alone: no Express, HTTP client, mock or inspector, to look at a table', () => {
  const loaded = loadedBy('bin/hookkit.js', 'events', 'list', '--help');
  expect(loaded).toContain('/src/cli/events/list-and-show.ts');
  expect(loaded).not.toMatch(
    /node_modules\/(express|jsonwebtoken|prom-client)\/|src\/(base\/poster|mock|inspector|receiver|service|cli\/(serve|mock|dev))/,
  );
});
