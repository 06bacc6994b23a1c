import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CHILD_ENV, ended, fileAt } from './children.ts';
import { memoryOf } from './memory.ts';
import { BENCH_SECRET } from './secret.ts';

/** How closely the time until the service is ready is told. */
const ASK_AGAIN_MS = 4;

/** Starts `hookkit` with its arguments on a database, which need not be there. */
function startProgram(args: readonly string[], database: string, env: object = {}): ChildProcess {
  return spawn(process.execPath, [fileAt('../bin/hookkit.js'), ...args], {
    env: { ...CHILD_ENV, DATABASE_URL: `sqlite:${database}`, WEBHOOK_SECRET: BENCH_SECRET, ...env },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
}

export interface ProgramRun {
  readonly seconds: number;
  readonly peakMb: number;
}

/** Runs a command to its end. */
export async function runProgram(args: readonly string[], database: string): Promise<ProgramRun> {
  const began = performance.now();
  const child = startProgram(args, database);
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
  const port = await freePort();
  const began = performance.now();
  const env = { HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: '0' };
  const child = startProgram(['serve'], database, env);
  try {
    while (!(await isReady(port))) {
      if (child.exitCode !== null) throw new Error(`hookkit serve ended with ${child.exitCode}`);
      await sleep(ASK_AGAIN_MS);
    }
    const readyMs = performance.now() - began;
    await sleep(restMs);
    return { readyMs, restMb: memoryOf(child.pid, 'VmRSS') ?? Number.NaN };
  } finally {
    await ended(child, 'SIGTERM');
  }
}

/** Asks with as little as can be, as it is asked many times on the cores that the service starts on. */
function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ port, host: '127.0.0.1', path: '/readyz', agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    }).on('error', () => resolve(false)); // it does not listen yet
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
