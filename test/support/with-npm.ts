import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { delimiter } from 'node:path';

/** What npm tells its scripts, Node its tests and Jest its suites is none of an app's business; neither are our packages. */
const kept = /^npm_config_(registry|cache|cafile)$/;
const inherited = Object.entries(process.env).filter(
  ([name]) => kept.test(name) || !/^(npm_|NODE_|TEST_SIZE|INIT_CWD|JEST)/.test(name),
);
export const envOfApps: NodeJS.ProcessEnv = {
  ...Object.fromEntries(inherited),
  PATH: process.env.PATH?.split(delimiter)
    .filter((path) => !path.endsWith('node_modules/.bin'))
    .join(delimiter),
  npm_config_loglevel: 'error',
  npm_config_prefer_offline: 'true',
};

/** Runs a command in a folder, as at a prompt there, with the Node of the system first. */
export function runIn(cwd: string, command: string, more: NodeJS.ProcessEnv = {}) {
  const options = { cwd, shell: true, env: { ...envOfApps, ...more }, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync(command, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  return { code: status, stdout, stderr };
}

/** The same, where anything but success is an error. */
export function mustRunIn(cwd: string, command: string, more?: NodeJS.ProcessEnv): string {
  const { code, stdout, stderr } = runIn(cwd, command, more);
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

const view = 'npm view node@24.21.0 version --fetch-retries=0 --fetch-timeout=20000';
/** Whether npm gets packages from a registry or from what it has kept of one. */
export const hasPackages = runIn(tmpdir(), view).code === 0;
if (!hasPackages)
  process.stdout.write('skipped: npm reaches no registry from here, so no app can be installed\n');
