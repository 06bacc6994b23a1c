import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHILD_ENV, ended, fileAt } from './children.ts';
import { memoryOf } from './memory.ts';
import { BENCH_SECRET, BENCH_SECRETS_KEY } from './secret.ts';

/** Whatever stands in src/handlers/, what is measured is the same. */
const HANDLERS = fileAt('../src/demo/handlers.ts');

/** Starts `hookkit` with its arguments on a database, which need not be there. */
function startProgram(
  args: readonly string[],
  database: string,
  { env = {}, stdout = 'ignore' }: { readonly env?: object; readonly stdout?: 'pipe' | 'ignore' } = {},
): ChildProcess {
  return spawn(process.execPath, [fileAt('../bin/hookkit.js'), ...args], {
    env: {
      ...CHILD_ENV,
      DATABASE_URL: `sqlite:${database}`,
      SECRETS_KEY: BENCH_SECRETS_KEY.toString('base64'),
      WEBHOOK_SECRET: BENCH_SECRET,
      HANDLERS,
      ...env,
    },
    stdio: ['ignore', stdout, 'ignore'],
  });
}

export interface ProgramRun {
  readonly seconds: number;
  readonly peakMb: number;
}

/** Runs a command to its end. */
export async function runProgram(
  args: readonly string[],
  database: string,
  env: object = {},
): Promise<ProgramRun> {
  const began = performance.now();
  const child = startProgram(args, database, { env });
  let peakMb = 0;
  const watch = setInterval(() => {
    peakMb = memoryOf(child.pid, 'VmHWM') ?? peakMb;
  }, 20);
  const [code] = await once(child, 'exit');
  clearInterval(watch);
  if (code !== 0) throw new Error(`hookkit ${args.join(' ')} ended with ${code}`);
  return { seconds: (performance.now() - began) / 1000, peakMb };
}

export interface Started {
  /** milliseconds from the start of the process until it says that it can record */
  readonly readyMs: number;
  /** what it holds after a rest, in MB */
  readonly restMb: number;
}

/** Starts the service on a database, lets it rest, and stops it in order. */
export async function startService(database: string, restMs: number): Promise<Started> {
  const began = performance.now();
  const child = startProgram(['serve'], database, { env: ANY_PORTS, stdout: 'pipe' });
  try {
    const { port } = await logged(child, 'port');
    await assertReady(Number(port));
    const readyMs = performance.now() - began;
    await sleep(restMs);
    return { readyMs, restMb: memoryOf(child.pid, 'VmRSS') ?? Number.NaN };
  } finally {
    await ended(child, 'SIGTERM');
  }
}

/** A service that runs. */
export interface Serving {
  readonly child: ChildProcess;
  readonly port: number;
  /** where its admin listener is */
  readonly adminUrl: string;
}

/** Starts the service on a database. */
export async function serveOn(database: string): Promise<Serving> {
  const child = startProgram(['serve'], database, { env: { ...ANY_PORTS, ...DEPLOYED }, stdout: 'pipe' });
  try {
    const { port, url } = await logged(child, 'port', 'url');
    return { child, port: Number(port), adminUrl: String(url) };
  } catch (error) {
    await ended(child, 'SIGKILL');
    throw error;
  }
}

/** What Dockerfile and deploy/ set. */
const DEPLOYED = { NODE_ENV: 'production', MALLOC_ARENA_MAX: '2' };

const ANY_PORTS = { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' };

/** Some members of its log's first lines, as these tell where it listens: asking over and over would take the cores that it starts on. */
async function logged<M extends string>(
  { stdout }: ChildProcess,
  ...members: readonly M[]
): Promise<Readonly<Record<M, unknown>>> {
  if (!stdout) throw new Error('its log goes nowhere');
  const seen: Partial<Record<M, unknown>> = {};
  for await (const line of createInterface(stdout)) {
    Object.assign(seen, JSON.parse(line));
    if (!members.every((member) => member in seen)) continue;
    stdout.resume();
    return seen as Record<M, unknown>;
  }
  throw new Error('hookkit serve ended before it listened');
}

/** @throws Error if the service says that it cannot record */
async function assertReady(port: number): Promise<void> {
  const [answer] = await once(get({ port, host: '127.0.0.1', path: '/readyz', agent: false }), 'response');
  answer.resume();
  if (answer.statusCode !== 200) throw new Error(`/readyz answers ${answer.statusCode}`);
}
