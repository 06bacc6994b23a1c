import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { present } from '../support/only.ts';
import { runCli, spawnCli } from '../support/run-cli.ts';
import { sampleHandlers } from '../support/sample-handlers.ts';
import { size, some } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(90_000); // processes on a busy machine

/** Each run of the compiler takes seconds. */
const isFull = size({ small: false, full: true });

const root = fileURLToPath(new URL('../..', import.meta.url));
const support = (name: string) => join(root, 'test/support', name);
const withSettings = support('app-with-settings.ts');
const DOOR = join(root, 'src/index.ts');

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Writes files of a project of somebody's own; the first is the module of its handlers. */
function write(files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return join(directory, Object.keys(files)[0] ?? '');
}

/** A module of handlers outside of any project of TypeScript, which would take seconds to be checked. */
const exporting = (name: string, module: string) =>
  write({ 'handlers.ts': `export { ${name} } from ${JSON.stringify(module)};` });

/** What a check finds; it must end with `code`. */
async function checked(handlers: string, code: number, { args = [], env = {} }: Checking = {}) {
  const run = await runCli(['handlers', 'check', '--json', ...args], { env: { HANDLERS: handlers, ...env } });
  expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code });
  const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(run.stdout);
  expect(ok).toBe(code === 0);
  const all = (check: string) => findings.filter((finding) => finding.check === check);
  return { all, of: (check: string) => present(all(check)[0]), stderr: run.stderr };
}

interface Checking {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

test('all is well with the sample handlers, and each has its steps under names of their own', async () => {
  const { of, all } = await checked(exporting('handlers', sampleHandlers), 0, { args: ['--rehearse'] });
  for (const check of ['handlers', 'kinds', 'imports']) expect(of(check).result).toBe('ok');
  expect(all('steps')).toHaveLength(13);
  expect(all('steps').map(({ detail }) => detail)).toContain('media_available: "announce"');
});

test('a kind without a handler is named with what to write, and the other checks go on', async () => {
  const { of } = await checked(
    write({ 'handlers.mjs': 'export const handlers = { media_created() {} };' }),
    1,
    { args: ['--strict'] },
  );
  expect((await checked(join(directory, 'handlers.mjs'), 0)).of('kinds').result).toBe('warn');
  expect(of('kinds')).toMatchObject({
    result: 'FAIL',
    detail: expect.stringMatching(
      /^no handler for media_available, .*: media_available: \(\) => skip\('not needed here'\)$/,
    ),
  });
  expect(of('imports').result).toBe('ok');
  expect(of('steps').result).toBe('skipped');
});

test('handlers that do not load are told of, and nothing else is', async () => {
  const { of } = await checked(write({ 'handlers.ts': 'export const handler = 1;' }), 1);
  expect(of('handlers')).toMatchObject({
    result: 'FAIL',
    detail: expect.stringContaining('exports no object'),
  });
  expect(of('everything else').result).toBe('skipped');
});

test('settings of the app that are missing are named, those that are there have no value shown, and nothing is rehearsed', async () => {
  const env = { CRM_TOKEN: 'a token that is long enough' };
  const { of } = await checked(exporting('app', withSettings), 1, { env, args: ['--rehearse'] });
  expect(of('settings').detail).toMatch(/has 1 mistake:\n {2}CRM_URL: is not set$/);
  expect(of('steps')).toMatchObject({ result: 'skipped', detail: 'it needs settings without mistakes' });
  const whole = await checked(exporting('app', withSettings), 0, {
    env: { ...env, CRM_URL: 'https://crm.test' },
  });
  expect(whole.of('settings')).toMatchObject({
    result: 'ok',
    detail: 'no mistakes in CRM_URL, CRM_TOKEN, CRM_PAGE_SIZE (not set)',
  });
  const doctor = await runCli(['doctor', '--offline'], {
    env: { ...env, HANDLERS: withSettings },
  });
  expect(doctor.stdout).toMatch(/^FAIL +settings +.*CRM_URL: is not set$/m);
  for (const shown of [of('settings').detail, whole.of('settings').detail, doctor.stdout])
    expect(shown).not.toContain('long enough');
});

test('a start that throws is told of, when handlers are to be rehearsed', async () => {
  const file = write({
    'handlers.mjs': "export const app = { handlers: {}, start() { throw new Error('no CRM'); } };",
  });
  expect((await checked(file, 1, { args: ['--rehearse'] })).of('app')).toMatchObject({
    result: 'FAIL',
    detail: expect.stringMatching(/^the start of the app failed: Error: no CRM\n.*handlers\.mjs:1/),
  });
});

test('types that do not fit are told by file and line, with the project that they are of', async () => {
  const file = write({
    'src/handlers.ts': `import type { Handlers } from '${DOOR}';\nexport const handlers: Handlers = {\n  media_created: () => true,\n};\n`,
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      include: ['src'],
      compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
    }),
  });
  expect((await checked(file, 0)).of('types')).toMatchObject({
    result: 'skipped',
    detail: expect.stringContaining('TypeScript is not installed'),
  });
  write({
    'node_modules/typescript/package.json': '{ "bin": { "tsc": "tsc.cjs" } }',
    'node_modules/typescript/tsc.cjs': `process.argv[1] = ${JSON.stringify(join(root, 'node_modules/typescript/bin/tsc'))};
      import(process.argv[1]);`,
  });
  expect((await checked(file, 1)).of('types')).toMatchObject({
    result: 'FAIL',
    detail: expect.stringMatching(
      /^they do not fit:\n {2}.*src\/handlers\.ts\(3,3\): error TS\d+: .*boolean/,
    ),
  });
  if (isFull) {
    write({
      'src/handlers.ts': `import type { Handlers } from '${DOOR}';\nexport const handlers: Handlers = {};\n`,
    });
    expect((await checked(file, 0)).of('types')).toMatchObject({
      result: 'ok',
      detail: `they fit, says tsc for ${join(directory, 'tsconfig.json')}`,
    });
    const beside = write({ 'more/handlers.ts': 'export const handlers = {};\nconst wrong: number = "x";\n' });
    expect((await checked(beside, 0)).of('types')).toMatchObject({
      result: 'warn',
      detail: expect.stringMatching(/^nobody looks at them: add .*more\/handlers\.ts to the files of /),
    });
  }
  rmSync(join(directory, 'tsconfig.json'));
  expect((await checked(file, 0)).of('types')).toMatchObject({
    result: 'skipped',
    detail: expect.stringContaining('there is no tsconfig.json'),
  });
});

test("imports of the kit's inside are found, in every file that the handlers import, of types too", async () => {
  const inside = join(root, 'src/store/event-store.ts');
  const file = write({
    'handlers.ts':
      "import { deep } from './lib/deep.ts';\nexport const handlers = { media_created: deep };\n",
    'lib/deep.ts': `// import '${inside}'\nimport type { EventStore } from '${relativeTo('lib', inside)}';\nexport const deep = (_store: EventStore): void => {};\n`,
  });
  expect((await checked(file, 1)).of('imports')).toMatchObject({
    result: 'FAIL',
    detail: expect.stringMatching(/^lib\/deep\.ts imports \S+event-store\.ts: the inside of the kit changes/),
  });
  write({
    'lib/deep.ts': `import { skip } from '${relativeTo('lib', DOOR)}';\nexport const deep = () => skip('x');\n`,
  });
  expect((await checked(file, 0)).of('imports')).toMatchObject({
    result: 'ok',
    detail: expect.stringMatching(/^2 files/),
  });
});

/** A path from a folder of the project of somebody's own. */
function relativeTo(folder: string, target: string): string {
  return `${'../'.repeat(join(directory, folder).split('/').length - 1)}${target.slice(1)}`;
}

test('a step that comes twice under one name is found by a rehearsal, and a handler that fails is told of', async () => {
  const file = write({
    'handlers.ts': `export const handlers = {
      async media_created(event, ctx) { for (const to of ['a', 'b']) await ctx.once('mail', () => to); },
      async media_deleted(event, ctx) { await ctx.once('first', () => 1); throw new Error('no CMS'); },
    };`,
  });
  const { all } = await checked(file, 1, { args: ['--rehearse'] });
  expect(all('steps')).toEqual([
    {
      check: 'steps',
      result: 'FAIL',
      detail: expect.stringMatching(/^the handler for media_created came to "mail" 2 times: /),
    },
    {
      check: 'steps',
      result: 'warn',
      detail: 'media_deleted: the rehearsal did not come to its end (Error: no CMS); so far: "first"',
    },
  ]);
  const args = ['handlers', 'try', '--kind', 'media_created', '--media', '1'];
  expect((await runCli(args, { env: { HANDLERS: file } })).stdout).toContain(
    'step mail: ran, and came 2 times: give each step a name of its own',
  );
});

const desk = deskForEachTest();

test.each(
  some(2, [
    [['handlers']],
    [['events', 'replay', '--all', '--run']],
    [['doctor', '--offline']],
    [['handlers', 'check', '--rehearse']],
    [['handlers', 'try', '--kind', 'media_created', '--media', '1']],
  ]),
)('hookkit %j ends, when the files of handlers leave a timer behind', async (args) => {
  const store = await desk().store();
  await store.record(verified({ event: 'media_created' }));
  const run = await spawnCli(args, { env: { ...desk().env, HANDLERS: support('ticking-handlers.ts') } });
  expect(run.stderr).not.toContain('process.exit() was called');
  expect(run).toMatchObject({ code: args.includes('doctor') ? 1 : 0 });
  expect(run.stdout).not.toBe('');
});
