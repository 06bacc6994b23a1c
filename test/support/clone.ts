import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { kindNames } from '../../src/notification/kinds.ts';
import { placeForCopy } from './place-for-copy.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Whether there is anything to clone: an archive of the project has no history. */
export const isRepository = existsSync(join(root, '.git'));

/** The project as committed, in a directory of its own, with somebody's own handlers in the place of src/handlers/. */
export interface Clone {
  /** What its handlers, and loading them, have left behind, with which program did it; empty where none was loaded. */
  trace(): string;
  /** Runs a program in it. */
  run(
    program: string,
    ...args: readonly string[]
  ): Promise<{ readonly code: number; readonly output: string }>;
  dispose(): void;
}

export function cloneWithOwnHandlers(): Clone {
  const parent = placeForCopy('clone');
  const directory = join(parent, 'clone');
  const trace = join(parent, 'trace');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, directory]);
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
  rmSync(join(directory, 'src/handlers'), { recursive: true });
  mkdirSync(join(directory, 'src/handlers'));
  const lines = [
    "import { appendFileSync } from 'node:fs';",
    "import { defineHandlers } from '../index.ts';",
    '',
    `const note = (what: string) => appendFileSync(${JSON.stringify(trace)}, \`\${what} by \${process.argv.join(' ')}\\n\`);`,
    "note('loaded');",
    '',
    'export const handlers = defineHandlers({',
    ...[...kindNames, 'unknown'].map((kind) => `  ${kind}: () => note('${kind}'),`),
    '});',
  ];
  writeFileSync(join(directory, 'src/handlers/index.ts'), `${lines.join('\n')}\n`);
  return {
    trace: () => (existsSync(trace) ? readFileSync(trace, 'utf8') : ''),
    async run(program, ...args) {
      const { TEST_SIZE: _, ...env } = process.env; // what npm test runs there is what it runs here
      const child = spawn(program, args, { cwd: directory, env: { ...env, ADMIN_PORT: '0' } });
      const exited = once(child, 'exit');
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      const [code] = await exited;
      return { code, output: stdout + stderr };
    },
    dispose: () => rmSync(parent, { recursive: true, force: true }),
  };
}
