import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import type { Installation } from './installation.ts';
import { type CliRun, callCli, endOf, sampleHandlers } from './run-cli.ts';
import { startProcess } from './service-process.ts';

const project = fileURLToPath(new URL('../../', import.meta.url));

/** Somebody who sits in a clone of the project and types what the documentation says. */
export type Operator = Awaited<ReturnType<typeof operatorAt>>;

/** Programs that the tests have no network for, or that take long: what they stand for is tested elsewhere. */
const stubs = (newHost: string) => ({
  npx: `case "$1" in
    hookkit) shift; exec "${process.execPath}" "${project}bin/hookkit.js" "$@" ;;
    -c) exec sh -c "$2" ;;
  esac
  exit 127`,
  node: `exec "${process.execPath}" "$@"`,
  npm: '[ "$1 $2" = "ci --omit=dev" ]',
  git: '[ "$1" = pull ]',
  scp: `[ "$1" = -p ] && shift
  for last; do :; done
  to="${newHost}\${last#new.host:receiver}"
  while [ $# -gt 1 ]; do cp -p "$1" "$to" || exit 1; shift; done`,
});

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a hookkit command that needs nothing of a shell but quotes and a file for what it prints. Undefined for any other. */
async function inProcess(command: string, place: Place): Promise<CliRun | undefined> {
  const [, typed, file] = /^npx hookkit ((?:'[^']*'|[^'"|<>$&;`*\\])+?)(?: > (\S+))?$/.exec(command) ?? [];
  const args = typed?.match(/'[^']*'|\S+/g)?.map((arg) => arg.replaceAll("'", ''));
  if (!args) return undefined;
  const run = await callCli(args, place);
  if (file === undefined) return run;
  writeFileSync(join(place.cwd, file), run.stdout);
  return { ...run, stdout: '' };
}

const inShell = (command: string, options: Place): Promise<CliRun> =>
  endOf(spawn('sh', ['-c', command], { ...options, stdio: ['ignore', 'pipe', 'pipe'] }));

/** Sits down in an empty clone, in `name` under the directory of an installation. */
export async function operatorAt(installation: Installation, name = 'clone') {
  const directory = join(installation.directory, name);
  const bin = join(installation.directory, `${name}-bin`);
  mkdirSync(join(directory, 'data'), { recursive: true });
  mkdirSync(bin);
  symlinkSync(join(project, 'node_modules'), join(directory, 'node_modules'));
  symlinkSync(join(project, 'bin'), join(directory, 'bin'));
  copyFileSync(join(project, '.env.example'), join(directory, '.env.example'));
  for (const [program, script] of Object.entries(stubs(join(installation.directory, 'new')))) {
    writeFileSync(join(bin, program), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, program), 0o755);
  }
  const url = `http://127.0.0.1:${await freePort()}`;
  const env = { HOST: '127.0.0.1', PORT: new URL(url).port, HANDLERS: sampleHandlers };
  /** what stands in the documentation, and what it is here */
  const here = new Map([
    ['https://your.host', url],
    ['http://127.0.0.1:3000', url],
  ]);
  return {
    directory,
    /** where the server is to listen; its webhook_url is this and /webhooks/media */
    url,
    here,
    /** Types a command. It must succeed, unless told otherwise. */
    async type(command: string, { code: expected } = { code: 0 }): Promise<CliRun> {
      const typed = [...here].reduce((line, [there, own]) => line.replaceAll(there, own), command);
      const place = { cwd: directory, env: { ...env, PATH: `${bin}:${process.env.PATH}` } };
      const { stdout, stderr, code } = (await inProcess(typed, place)) ?? (await inShell(typed, place));
      installation.outputs.push(stdout, stderr);
      if (code !== expected) throw new Error(`${typed}\nended with ${code}:\n${stdout}${stderr}`);
      return { code, stdout, stderr };
    },
    /** Types `npm start`, which goes on running. */
    async start(command: string) {
      if (command !== 'npm start') throw new Error(`${command} does not start a server`);
      return installation.serve({}, () => startProcess(env, directory));
    },
    /** Writes lines into `.env`. */
    configure(lines: Readonly<Record<string, string>>): void {
      const file = join(directory, '.env');
      const text = Object.entries(lines).map(([variable, value]) => `${variable}=${value}\n`);
      writeFileSync(file, [readFileSync(file, 'utf8'), ...text].join('\n'));
    },
  };
}

/** An operator whose installation is configured for the mock provider. */
export async function settledOperator(installation: Installation, name?: string) {
  const operator = await operatorAt(installation, name);
  copyFileSync(join(operator.directory, '.env.example'), join(operator.directory, '.env'));
  operator.configure(providerSettings(installation));
  return operator;
}

/** What an operator puts into `.env`. */
export function providerSettings({ env }: Installation): Record<string, string> {
  return {
    PROVIDER_BASE_URL: env.PROVIDER_BASE_URL ?? '',
    PROVIDER_API_SECRET: env.PROVIDER_API_SECRET ?? '',
  };
}
