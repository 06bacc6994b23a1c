import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, jest, test } from '@jest/globals';
import type { Finding } from '../../src/base/finding.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { present } from '../support/only.ts';
import { callCli, runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(90_000); // processes on a busy machine

const root = fileURLToPath(new URL('../..', import.meta.url));
const DOOR = join(root, 'src/index.ts');

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});

/** Writes files of a project of somebody's own; the first is the module of its handlers. */
function write(files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return join(directory, Object.keys(files)[0] ?? '');
}

/** What a check finds; it must end with `code`. */
async function checked(handlers: string, code: number, args: readonly string[] = []) {
  const run = await callCli(['handlers', 'check', '--json', ...args], { env: { HANDLERS: handlers } });
  expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code });
  const { ok, findings }: { ok: boolean; findings: Finding[] } = JSON.parse(run.stdout);
  expect(ok).toBe(code === 0);
  return { of: (check: string) => present(findings.find((finding) => finding.check === check)) };
}

test('a kind without a handler is named with what to write, and the other checks go on', async () => {
  const file = write({ 'handlers.mjs': 'export const handlers = { media_created() {} };' });
  const { of } = await checked(file, 1, ['--strict']);
  expect((await checked(file, 0)).of('kinds').result).toBe('warn');
  expect(of('kinds').result).toBe('FAIL');
  expect(of('kinds').detail).toContain("media_available: () => skip('not needed here')");
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
  expect((await checked(file, 0)).of('types').result).toBe('skipped'); // TypeScript is not installed there
  write({
    'node_modules/typescript/package.json': '{}',
    'node_modules/typescript/bin/tsc': `process.argv[1] = ${JSON.stringify(join(root, 'node_modules/typescript/bin/tsc'))};
      import(process.argv[1]);`,
  });
  const { result, detail } = (await checked(file, 1)).of('types');
  expect(result).toBe('FAIL');
  expect(detail).toMatch(/src\/handlers\.ts\(3,3\): error TS\d+: .*boolean/);
});

const desk = deskForEachTest();

test.each([[['events', 'replay', '--all', '--run']], [['handlers']]])(
  'hookkit %j ends, when the files of handlers leave a timer behind',
  async (args) => {
    const store = await desk().store();
    await store.record(verified({ event: 'media_created' }));
    const run = await runCli(args, {
      env: { ...desk().env, HANDLERS: join(import.meta.dirname, 'handlers/ticking.ts') },
    });
    expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/./) });
  },
);
