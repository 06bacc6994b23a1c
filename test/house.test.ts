import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { circlesOf } from './support/circles.ts';
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

/** What a room must not import, as DESIGN draws the house. A rule holds as soon as its room is there. */
const forbidden: Readonly<Record<string, (target: string) => boolean>> = {
  base: (target) => /^src\/(?!base\/)/.test(target),
  notification: (target) => /^src\/(?!notification\/|base\/)/.test(target),
  mock: (target) => /^src\/(receiver|store|dispatch)\//.test(target),
  receiver: (target) => /^src\/(dispatch|handlers)\//.test(target),
  // It is told where to speak: it knows no command line, and no page; it sends to any receiver, and knows none.
  replay: (target) => /^src\/(cli|inspector|mock|receiver)\//.test(target) || target === 'commander',
  // The command line plays and prints it.
  demo: (target) => /^src\/(cli|inspector|receiver)\//.test(target) || target === 'commander',
  // The kit for the tests of handlers has no port, no page and no command.
  testing: (target) => /^src\/(cli|inspector|recipes|handlers|start\.ts|service\.ts)/.test(target),
  recipes: (target) => /^src\//.test(target) && !HANDLERS_MAY_IMPORT.test(target),
};

/** The same of folders within the store: what both engines go by knows neither of them. */
const forbiddenBelow: Readonly<Record<string, (target: string) => boolean>> = {
  'src/store/operations/': (target) => ENGINES.test(target),
  'src/store/lists/': (target) => ENGINES.test(target),
};
const ENGINES = /^(src\/store\/(sqlite|postgres)\/|better-sqlite3$|pg$)/;

/** What a handler may import, wherever it stands. */
const HANDLERS_MAY_IMPORT = /^src\/(index\.ts$|dispatch\/handler\.ts$|provider\/|notification\/|recipes\/)/;

/** Rooms that nothing depends on: tests and the owner's handlers alone import them. */
const leaves = ['testing', 'recipes'];

/** The door of the store: what other rooms import of it. */
const STORE_DOOR = [
  'event-store.ts', // the store, and everything that it gives and takes
  'open.ts', // opens and checks the database that DATABASE_URL names
  'event-id.ts',
  'lists/event-json.ts',
  'verified.ts', // what is stored of a notification
  'stored.ts',
  'retention.ts', // runs with the service
  'engine.ts', // of the doctor's checks
  'with-store.ts', // for commands
  'move.ts', // for the command
].map((file) => `src/store/${file}`);

/** Each import of a file that breaks a rule of its room. */
function brokenRules(files: readonly SourceFile[]): string[] {
  const own = Object.entries(forbidden).flatMap(([room, isForbidden]) =>
    breaches(
      files.filter(({ path }) => roomOf(path) === room),
      isForbidden,
    ),
  );
  const ofFolders = Object.entries(forbiddenBelow).flatMap(([folder, isForbidden]) =>
    breaches(
      files.filter(({ path }) => path.startsWith(folder)),
      isForbidden,
    ),
  );
  const ofLeaves = leaves.flatMap((leaf) =>
    breaches(
      files.filter(({ path }) => roomOf(path) !== leaf),
      (target) => target.startsWith(`src/${leaf}/`),
    ),
  );
  const isInside = (target: string) => target.startsWith('src/store/') && !STORE_DOOR.includes(target);
  const ofStore = breaches(
    files.filter(({ path }) => roomOf(path) !== 'store'),
    isInside,
  );
  return [...own, ...ofFolders, ...ofLeaves, ...ofStore];
}

describe('the rules of the house', () => {
  test('are checked on files that are there, when imports are read', () => {
    for (const folder of Object.keys(forbiddenBelow)) {
      expect(sources.filter(({ path }) => path.startsWith(folder)).length).toBeGreaterThan(1);
    }
    for (const room of ['base', 'mock', 'receiver', 'cli', 'store', 'dispatch', 'notification']) {
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

  test('say what each room may import, when every import of src is read, without a breach', () => {
    expect(brokenRules(sources)).toEqual([]);
  });

  test.each([
    ['src/base/a.ts', '../store/event-store.ts'],
    ['src/notification/a.ts', '../config.ts'],
    ['src/mock/a.ts', '../store/event-store.ts'],
    ['src/receiver/a.ts', '../dispatch/handler.ts'],
    ['src/replay/a.ts', '../cli/output.ts'],
    ['src/replay/a.ts', '../receiver/verdict.ts'],
    ['src/testing/a.ts', '../cli/output.ts'],
    ['src/recipes/a.ts', '../store/event-store.ts'],
    ['src/cli/a.ts', '../testing/kit.ts'],
    ['src/dispatch/a.ts', '../recipes/published.ts'],
    ['src/cli/a.ts', '../store/sqlite/engine.ts'],
    ['src/store/operations/a.ts', '../sqlite/connection.ts'],
    ['src/store/lists/a.ts', '../postgres/engine.ts'],
  ])('are broken, when %s imports %s', (path, specifier) => {
    const text = `import type { A } from '${specifier}';`;
    expect(brokenRules([{ path, text }])).toHaveLength(1);
  });

  test.each([
    ['src/base/a.ts', './clock.ts'],
    ['src/mock/a.ts', '../notification/kinds.ts'],
    ['src/testing/a.ts', '../mock/index.ts'],
    ['src/recipes/a.ts', '../index.ts'],
    ['src/store/a.ts', './sqlite/engine.ts'],
  ])('are kept, when %s imports %s', (path, specifier) => {
    const text = `import type { A } from '${specifier}';`;
    expect(brokenRules([{ path, text }])).toEqual([]);
  });

  test('have a door of the store that is there, file by file, and in use', () => {
    const used = new Set(
      sources
        .filter(({ path }) => roomOf(path) !== 'store')
        .flatMap((file) => importsOf(file).map(({ target }) => target)),
    );
    expect(STORE_DOOR.filter((file) => !used.has(file))).toEqual([]);
  });

  test('let no files import each other in a circle, types included', () => {
    expect(circlesOf(sources)).toEqual([]);
  });

  test('find a circle and name what ties it, when files import each other over others', () => {
    const files = [
      { path: 'src/x/a.ts', text: "import { type B, c } from './b.ts';\nimport { d } from './d.ts';" },
      { path: 'src/x/b.ts', text: "export type { A } from '../y/c.ts';" },
      { path: 'src/y/c.ts', text: "import type { E } from '../x/a.ts';" },
      { path: 'src/x/d.ts', text: "import { a } from './a.ts';" },
      { path: 'src/x/e.ts', text: "import { a } from './a.ts';" },
    ];
    expect(circlesOf(files)).toEqual([
      'src/x/a.ts -> src/x/b.ts (B, c) -> src/y/c.ts (A) -> src/x/a.ts (E)',
      'src/x/a.ts -> src/x/d.ts (d) -> src/x/a.ts (a)',
    ]);
  });

  test('have replay speak through its listener alone: it names no stream, argument or signal of the process', () => {
    expect(inRoom('replay').length).toBeGreaterThan(10);
    const speakers = inRoom('replay').filter((file) => /\bprocess\b/.test(codeOf(file)));
    expect(speakers.map(({ path }) => path)).toEqual([]);
  });

  test('keep the inspector apart: one line mounts it, and nothing else imports it', () => {
    const others = sources.filter(({ path }) => roomOf(path) !== 'inspector');
    expect(breaches(others, (target) => target.startsWith('src/inspector/'))).toEqual([
      'src/start.ts -> src/inspector/index.ts',
    ]);
  });

  test('keep recipes and sample handlers to the door for handlers, the provider clients and the notifications', () => {
    const samples = sources.filter(({ path }) => path === 'src/demo/handlers.ts');
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

  test('leave src/handlers/ to its owner: a test that spawns our program says which handlers it has instead', () => {
    const spawnsOurs = (text: string) =>
      /new URL\('[./]*bin\/hookkit\.js'/.test(text) && /\bspawn\(/.test(text);
    const spawning = filesBelow('test', '.ts').filter(({ text }) => spawnsOurs(text));
    expect(spawning.length).toBeGreaterThan(3);
    expect(spawning.filter(({ text }) => !/\bprogramEnv\b/.test(text)).map(({ path }) => path)).toEqual([]);
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
    // A handler is its owner's, and the samples of the demo and the recipes show what one may look like.
    expect(elsewhere.filter((path) => !path.startsWith('src/recipes/'))).toEqual(['src/demo/handlers.ts']);
  });

  test('keep virtual time to the mock and tests: what a server loads imports the machine clock alone', () => {
    const users = breaches(sources, (target) => /^src\/base\/virtual-clock\.ts$/.test(target));
    const others = users.filter(
      (user) => !/^src\/(mock\/|testing\/|cli\/mock|base\/virtual-clock)/.test(user),
    );
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
      'src/cli/dev.ts', // hands on what the terminal can do
      'src/cli/output.ts',
      'src/cli/with-handlers.ts', // its log passes through visibleLog
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

  test('have every URL of a module go through moduleUrl, as the compiler changes the extensions of imports alone', () => {
    const urls = /(\bmoduleUrl\()?\bnew URL\(\s*'[^']*\.ts'/g;
    const plain = sources.filter((file) => [...codeOf(file).matchAll(urls)].some(([, named]) => !named));
    expect(plain.map(({ path }) => path)).toEqual([]);
    expect(sources.filter((file) => urls.test(codeOf(file)))).not.toEqual([]);
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
    const whereInstalled = [
      // On a developer's terminal.
      'src/dev/pretty-log.ts -> pino-pretty',
      // The kit for tests of handlers runs where tests do; it loads this one when it is first needed.
      ...Array(2).fill('src/testing/matrix.ts -> fast-check'),
    ];
    expect(breaches(sources, isForeign)).toEqual(whereInstalled);
  });
});

describe('nothing in the project', () => {
  const folders = ['src', 'bin', 'docs', 'bench', 'deploy', 'pack', '.ci'];
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
