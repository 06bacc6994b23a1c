import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { exchangeManifest } from '../../pack/clone-manifest.ts';
import { eventually } from '../support/eventually.ts';
import { startGroup } from '../support/process-group.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { envOfApps, hasPackages, mustRunIn, runIn } from '../support/with-npm.ts';

jest.setTimeout(600_000);

const SECRET = 'the-secret-of-a-webhook-in-a-test';
/** Any ports: other suites run beside this one. */
const PORTS = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', MOCK_PORT: '0' };

const root = join(import.meta.dirname, '../..');

/** Starts a command that goes on. */
function startIn(cwd: string, command: string, more: NodeJS.ProcessEnv = {}) {
  const { output, kill, gone } = startGroup(['sh', '-c', command], cwd, { ...envOfApps, ...more });
  return {
    output,
    /** Resolves with the first group of what the output, from a place on, matches. */
    async printed(what: RegExp, from = 0): Promise<string> {
      await eventually(`${command} prints ${what}`, () => what.test(output().slice(from)));
      return what.exec(output().slice(from))?.[1] ?? '';
    },
    /** Interrupts all of the group, as Ctrl-C does, until nothing of it is left. */
    async interrupt(): Promise<void> {
      kill('SIGINT');
      await gone();
    },
  };
}

/** Whether the Node of the system is older than the kit's, so that an app needs one of its own. */
const isOld = Number(/\d+/.exec(runIn(tmpdir(), 'node --version').stdout)) < 24;
const withPackages = hasPackages ? test : test.skip;

let project: string;
let place: string;
/** The app that init has written into a folder in which the kit was installed. */
let app: string;
let tarball: string;
let packed: string[];

beforeAll(async () => {
  place = await temporaryDirectory();
  app = join(place, 'app');
  mkdirSync(app);
  if (!hasPackages) return;
  project = join(place, 'project');
  const notOurs = ['node_modules', '.git', 'data', 'dist'].map((name) => join(root, name));
  cpSync(root, project, { recursive: true, filter: (path) => !notOurs.includes(path) });
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
  exchangeManifest(project); // as an npm pack leaves it that is killed: the next one has to put it right
  const [facts] = JSON.parse(
    runIn(project, `npm pack --json --pack-destination ${place}`).stdout.replace(/^[^[]*/, ''),
  );
  process.stdout.write(
    `packed: ${facts.size} bytes, ${facts.unpackedSize} unpacked, ${facts.entryCount} files\n`,
  );
  packed = facts.files.map(({ path }: { path: string }) => path);
  tarball = join(place, facts.filename);
  mustRunIn(app, `npm install ${tarball}`);
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

withPackages('the package holds what runs, and the clone is as it was, after a pack that was killed', () => {
  const sources = packed.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
  expect(sources.filter((path) => !/^(templates|dist\/recipes)\//.test(path))).toEqual([]);
  expect(sources.length).toBeGreaterThan(5);
  expect(
    packed.filter((path) => /^(src|test|pack|node_modules)\/|^bench\/.*\.ts$|^dist\/handlers\//.test(path)),
  ).toEqual([]);
  expect(packed.filter((path) => /\.test\.[jt]s$/.test(path) && !path.startsWith('templates/'))).toEqual([]);
  const own = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
  expect(readFileSync(join(project, 'package.json'), 'utf8')).toBe(own('package.json'));
  expect(['dist', 'package.json.clone'].filter((name) => existsSync(join(project, name)))).toEqual([]);
});

withPackages('publint has nothing to say of the package, not even a suggestion', () => {
  expect(mustRunIn(root, `npx publint run --strict ${tarball}`)).toContain('All good!');
});

withPackages('init writes an app there, with any Node of the system, and its tests pass', async () => {
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  const said = mustRunIn(app, 'npx hookkit init');
  expect(said).toContain('npm install\n');
  mustRunIn(app, 'npm install');
  expect(mustRunIn(app, 'npx hookkit --version')).toContain(version);
  expect(mustRunIn(app, 'npm test')).toMatch(/pass 2\n.*fail 0\n/);
  expect(mustRunIn(app, 'npx tsc --skipLibCheck false')).toBe('');
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
  expect(dependencies).toEqual({ 'webhook-receiver-kit': `file:${basename(tarball)}` });
  expect('node' in devDependencies).toBe(isOld);
  expect(readdirSync(join(app, 'node_modules/.cache'))).toContain('hookkit');
});

withPackages('the doors have types: a misspelt kind or member is an error in the app', async () => {
  const wrong = join(app, 'src/wrong.ts');
  const lines = [
    "import { defineHandlers } from 'webhook-receiver-kit';",
    "import { MockProvider } from 'webhook-receiver-kit/mock';",
    "import { StatusesClient } from 'webhook-receiver-kit/provider';",
    "import { testReceiver } from 'webhook-receiver-kit/testing';",
    'export const misspelt = defineHandlers({ media_avaliable() {} });',
    'export const unknown = defineHandlers({ media_available: (event) => void event.thumbnail_id });',
    "export const mock = MockProvider.start({ port: 'any' });",
    'export const statuses = new StatusesClient(1);',
    'export const kit = testReceiver({ handlers: 1 });',
  ];
  writeFileSync(wrong, lines.join('\n'));
  const { stdout } = runIn(app, 'npx tsc --pretty false');
  rmSync(wrong);
  const places = [...stdout.matchAll(/^src\/wrong\.ts\((\d+),\d+\): error/gm)].map(([, line]) =>
    Number(line),
  );
  expect(places).toEqual([5, 6, 7, 8, 9]);
});

/** What a module of the app prints. */
async function printedBy(code: string): Promise<string> {
  writeFileSync(join(app, 'script.mjs'), code);
  return runIn(app, `'${process.execPath}' script.mjs`).stdout;
}

withPackages('the kit is imported by its name and doors alone, and the first loads few files', async () => {
  const doors = await printedBy(`
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const kit = await import('webhook-receiver-kit');
    const ofHandlers = loaded.filter((url) => url.startsWith('file:'));
    const others = await Promise.all(['testing', 'mock', 'provider'].map((door) => import('webhook-receiver-kit/' + door)));
    const deep = await import('webhook-receiver-kit/dist/config.js').catch(({ code }) => code);
    console.log(JSON.stringify({ ofHandlers, doors: [kit, ...others].map((door) => Object.keys(door)), deep }));`);
  const { ofHandlers, doors: names, deep } = JSON.parse(doors);
  expect(ofHandlers.length).toBeLessThan(12);
  expect(
    ofHandlers.filter((url: string) => !url.includes('/node_modules/webhook-receiver-kit/dist/')),
  ).toEqual([]);
  expect(names).toEqual([
    expect.arrayContaining(['combineHandlers', 'defineHandlers', 'kindNames', 'retry', 'skip']),
    expect.arrayContaining(['everyCrash', 'matrix', 'testReceiver']),
    expect.arrayContaining(['MockProvider', 'VirtualClock']),
    expect.arrayContaining(['StatusesClient', 'WebhooksClient']),
  ]);
  expect(deep).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
});

const upload = (mock: string) =>
  fetch(`${mock}/_mock/media`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"site_id":"devSite1"}',
  });

withPackages('npm run dev runs the handler, restarts when it is changed, and ends at Ctrl-C', async () => {
  const dev = startIn(app, 'npm run dev', PORTS);
  const first = await dev.printed(/mock\s+(http:\/\/[\d.:]+)/);
  expect((await upload(first)).ok).toBe(true);
  await dev.printed(/media is announced/);
  expect(dev.output()).toContain(join(app, 'src/handlers.ts'));

  const from = dev.output().length;
  const handlers = join(app, 'src/handlers.ts');
  writeFileSync(handlers, readFileSync(handlers, 'utf8').replace('media is announced', 'media is changed'));
  const second = await dev.printed(/mock\s+(http:\/\/[\d.:]+)/, from);
  expect((await upload(second)).ok).toBe(true);
  await dev.printed(/media is changed/, from);
  await dev.interrupt();
  expect(readdirSync(join(app, 'data'))).toContain('dev.db');
});

withPackages("the app serves, and commands work, without its developers' packages", async () => {
  mustRunIn(app, 'npm install --omit=dev');
  expect(existsSync(join(app, 'node_modules/typescript'))).toBe(false);
  // In production the first Node is of the kit's version.
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...PORTS, PATH, WEBHOOK_SECRET: SECRET };
  const server = startIn(app, 'npx hookkit serve', env);
  const admin = await server.printed(/"url":"(http:[^"]+)","msg":"inspecting"/);
  const port = await server.printed(/"port":(\d+),"path"/);

  const page = await (await fetch(admin)).text();
  const assets = new Set([...page.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, path]) => path));
  expect(assets.size).toBeGreaterThan(5);
  for (const path of assets) expect((await fetch(`${admin}/${path}`)).status).toBe(200);
  expect(page).toContain('events');

  const to = `--to http://127.0.0.1:${port}/webhooks/media`;
  const sent = mustRunIn(app, `npx hookkit events send --kind media_available --media UUhbHm6C ${to}`, env);
  expect(sent).toMatch(/^outcome +accepted$/m);
  await eventually('the handler has run', () => server.output().includes('media is changed'));
  expect(mustRunIn(app, 'npx hookkit events list --json', env)).toContain('"handled"');
  const doctor = mustRunIn(app, 'npx hookkit doctor --offline', env);
  expect(doctor).toMatch(/ok +node +Node\.js 24/);
  expect(doctor).not.toMatch(/FAIL/);
  await server.interrupt();
  expect(mustRunIn(app, 'npx hookkit demo --once', { PATH, ADMIN_PORT: '0' })).toContain(
    'All 13 kinds were delivered',
  );
});
