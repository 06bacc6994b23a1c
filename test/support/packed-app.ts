import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { endAfterSuite } from './left-behind.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What npm tells its scripts, Node its tests and Jest its suites is none of an app's business; neither are our packages. */
const env = Object.fromEntries(
  Object.entries({
    ...process.env,
    PATH: (process.env.PATH ?? '')
      .split(delimiter)
      .filter((path) => !path.endsWith('node_modules/.bin'))
      .join(delimiter),
    npm_config_loglevel: 'error',
    npm_config_prefer_offline: 'true',
  }).filter(
    ([name]) =>
      !/^npm_(?!config_(loglevel|prefer_offline|registry|cache|cafile)$)|^(NODE_|TEST_SIZE|INIT_CWD|JEST)/.test(
        name,
      ),
  ),
);

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in a folder, as at a prompt there, with the Node of the system first. */
export async function runIn(
  folder: string,
  command: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(command, {
    shell: true,
    cwd: folder,
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code, stdout, stderr };
}

/** The same, where anything but success is an error. */
export async function mustRunIn(
  folder: string,
  command: string,
  more?: Readonly<Record<string, string>>,
): Promise<string> {
  const { code, stdout, stderr } = await runIn(folder, command, more);
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

/** Whether npm gets packages from a registry or from what it has kept of one. */
export async function canInstall(): Promise<boolean> {
  const { code } = await runIn(
    tmpdir(),
    'npm view node@24.21.0 version --fetch-retries=0 --fetch-timeout=20000',
  );
  return code === 0;
}

/** A command that goes on, in a group of its own, as a terminal gives it one. */
export interface Running {
  output(): string;
  /** Resolves once the output, from a place on, matches. */
  printed(what: RegExp, from?: number): Promise<RegExpExecArray>;
  /** Interrupts all of the group, as Ctrl-C does; resolves with the exit code of the command once none of it is left. */
  interrupt(): Promise<number | null>;
}

export function startIn(
  folder: string,
  command: string,
  more: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(command, { shell: true, cwd: folder, env: { ...env, ...more }, detached: true });
  const group = -(child.pid ?? 0);
  const isThere = () => {
    try {
      return process.kill(group, 0);
    } catch {
      return false;
    }
  };
  const forget = endAfterSuite(() => isThere() && process.kill(group, 'SIGKILL'));
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk;
    });
  }
  return {
    output: () => output,
    async printed(what, from = 0) {
      let found: RegExpExecArray | null = null;
      await eventually(`${command} prints ${what}; it has printed:\n${output}`, () => {
        found = what.exec(output.slice(from));
        return found !== null;
      });
      return found ?? expectNever();
    },
    async interrupt() {
      process.kill(group, 'SIGINT');
      const [code] = await exited;
      await eventually(`nothing of ${command} is left`, () => !isThere());
      forget();
      return code;
    },
  };
}

function expectNever(): never {
  throw new Error('it was found and is not there');
}

/** What is no part of the project: packages, history, data, what tools make. */
const NOT_OURS = ['node_modules', '.git', 'data', 'dist'].map((name) => join(root, name));

/** The project as it is now, in a folder of its own, with the packages of this one. */
export function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'hookkit-project-'));
  cpSync(root, copy, { recursive: true, filter: (path) => !NOT_OURS.includes(path) });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  endAfterSuite(() => rmSync(copy, { recursive: true, force: true }));
  return copy;
}
