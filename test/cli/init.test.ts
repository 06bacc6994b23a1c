import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { writeNewApp } from '../../src/scaffold/new-app.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { callCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { tsc } from '../support/tools.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const recipes = readdirSync(join(root, 'src/recipes')).map((name) => name.replace(/\.ts$/, ''));
const run = promisify(execFile);

/** All files of an app. */
const FILES = (
  '.dockerignore .env.example .github/workflows/test.yml .gitignore .nvmrc Dockerfile README.md ' +
  'package.json src/handlers.test.ts src/handlers.ts tsconfig.json'
).split(' ');

const fileOf = directoryForEachTest();

/** A clone does not know where npm finds the kit. */
const init = (...args: readonly string[]) => callCli(['init', '--kit', '1.2.3', ...args], { cwd: fileOf() });

const read = (path: string) => readFileSync(fileOf(path), 'utf8');

function filesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted();
}

test('init writes an app and says what comes next, when the folder is empty or not there yet', async () => {
  const here = await init();
  expect(here).toMatchObject({ code: 0, stderr: '' });
  expect(filesIn(fileOf())).toEqual(FILES);
  for (const path of [...FILES, 'npm run dev']) expect(`${here.stdout}\n`).toContain(`  ${path}\n`);

  const inside = await init('my receiver/of Mine');
  expect(inside.stdout).toContain("  cd 'my receiver/of Mine'\n  npm install\n");
  expect(filesIn(fileOf('my receiver/of Mine'))).toEqual(FILES);
  expect(JSON.parse(read('my receiver/of Mine/package.json')).name).toBe('of-mine');
});

test('init completes package.json and leaves other files alone, when npm or a person has begun', async () => {
  const script = 'echo "Error: no test specified" && exit 1';
  const begun = { name: 'mine', license: 'MIT', type: 'commonjs', scripts: { test: script, start: 'own' } };
  writeFileSync(fileOf('package.json'), JSON.stringify(begun));
  writeFileSync(fileOf('.gitignore'), 'mine');
  symlinkSync('nowhere', fileOf('tsconfig.json'));
  const { code, stdout } = await init();
  expect(code).toBe(0);
  expect(stdout).toMatch(/ {2}completed +package\.json\n/);
  for (const path of ['.gitignore', 'tsconfig.json']) expect(stdout).toContain(`  left alone  ${path}\n`);
  expect(stdout).toMatch(/By hand:\n.*script start.*hookkit serve\n.*\.gitignore needs the lines.*data\//);
  expect(filesIn(fileOf())).toEqual(FILES.filter((path) => path !== 'tsconfig.json'));
  expect(read('.gitignore')).toBe('mine');
  const { devDependencies, ...manifest } = JSON.parse(read('package.json'));
  expect(Object.keys(devDependencies)).not.toContain('node');
  expect(manifest).toMatchObject({ name: 'mine', license: 'MIT', type: 'module', engines: { node: '>=24' } });
  expect(manifest.scripts).toMatchObject({
    start: 'own',
    dev: 'hookkit dev',
    test: expect.stringMatching('node'),
  });
});

test('init gives a repository with code of its own handlers, a test and scripts, and nothing else', async () => {
  const kept = { name: 'mine', scripts: { test: 'jest' }, dependencies: { express: '5.3.0' } };
  writeFileSync(fileOf('package.json'), JSON.stringify(kept));
  mkdirSync(fileOf('src'));
  writeFileSync(fileOf('src/index.js'), 'mine');
  expect((await init()).stdout).toMatch(/script test; the kit's is: node --test/);
  const ours = ['handlers.test.ts', 'index.ts', 'package.json'].map((name) => `src/handlers/${name}`);
  expect(filesIn(fileOf())).toEqual(['package.json', ...ours, 'src/index.js']);
  expect(JSON.parse(read('package.json'))).toEqual({
    ...kept,
    scripts: { test: 'jest', dev: 'hookkit dev', start: 'hookkit serve' },
    dependencies: { express: '5.3.0', 'webhook-receiver-kit': '1.2.3' },
  });
  writeFileSync(fileOf(ours[1] ?? ''), 'mine');
  rmSync(fileOf(ours[0] ?? ''));
  expect((await init()).stdout).toContain('Your handlers stay');
  expect(filesIn(fileOf())).toEqual(['package.json', ...ours.slice(1), 'src/index.js']);
  expect(read(ours[1] ?? '')).toBe('mine');
});

test('init says how to begin, when it is run in a clone, and names the recipes, when there is none of that name', async () => {
  const inClone = await callCli(['init'], { cwd: fileOf() });
  expect(inClone.code).toBe(2);
  expect(inClone.stderr).toMatch(/npm pack[\s\S]*npx hookkit init\n$/);
  const unknown = await init('--recipe', 'fowrard');
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain(`there is no recipe fowrard; there are ${recipes.join(', ')}`);
  expect(filesIn(fileOf())).toEqual([]);
});

describe('an app', () => {
  /** The app of the example, one for each recipe, and a repository that has CommonJS, beside each other. */
  const apps = ['example', ...recipes, 'repository'];
  let place: string;

  beforeAll(async () => {
    place = await temporaryDirectory();
    for (const app of apps) {
      const recipe = recipes.includes(app) ? { recipe: app } : {};
      if (app === 'repository') mkdirSync(join(place, app, 'src'), { recursive: true });
      writeNewApp({ folder: join(place, app), cwd: place, kit: '1.2.3', ...recipe });
    }
    // As npm installs it from a folder: a link to it, and its packages.
    mkdirSync(join(place, 'node_modules/@types'), { recursive: true });
    symlinkSync(root, join(place, 'node_modules/webhook-receiver-kit'));
    symlinkSync(join(root, 'node_modules/@types/node'), join(place, 'node_modules/@types/node'));
  });

  test('compiles by its own tsconfig.json, with every recipe', async () => {
    const first = join(place, 'example/tsconfig.json');
    writeFileSync(join(place, 'example/src/wrong.ts'), 'export const wrong: number = "text";\n');
    const { compilerOptions } = JSON.parse(readFileSync(first, 'utf8'));
    const all = { compilerOptions, include: apps.map((app) => `${app}/src`) };
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify(all));
    const args = [tsc, '--singleThreaded', '--pretty', 'false', '--project', place];
    const { stdout } = await run(process.execPath, args, { cwd: place }).catch((error) => error);
    rmSync(join(place, 'example/src/wrong.ts'));
    const errors = stdout.split('\n').filter((line: string) => line.includes('error TS'));
    expect(errors).toEqual([expect.stringMatching(/^example\/src\/wrong\.ts.*TS2322/)]);
  });

  test('has tests that pass, with every recipe', async () => {
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const paths = apps.flatMap((app) => filesIn(join(place, app)).map((path) => join(place, app, path)));
    const tests = paths.filter((path) => path.endsWith('.test.ts'));
    const { stdout } = await run(process.execPath, ['--test', '--test-isolation=none', ...tests], { env });
    expect(stdout).toMatch(/pass \d+\n.*fail 0\n/);
    expect(Number(/pass (\d+)/.exec(stdout)?.[1])).toBeGreaterThan(apps.length);
  });
});
