import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { BENCH_SECRET } from './notification.ts';
import { say } from './rounds.ts';
import { directory, ended, fileAt, watched } from './stage.ts';

/** Databases that the benchmark fills are opened by the service. */
export const SECRETS_KEY = Buffer.alloc(32);

/** As operators have it, but for the time in which a balancer turns away. Nothing of the caller's environment, nor a .env, counts. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  NODE_ENV: 'production',
  MALLOC_ARENA_MAX: '2', // as Dockerfile and deploy/ set it
  HANDLERS: fileAt('./handlers.ts'),
  WEBHOOK_SECRET: BENCH_SECRET,
  SECRETS_KEY: SECRETS_KEY.toString('base64'),
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  DRAIN_MS: '0',
};

const MOST_START_MS = 30_000;
const MOST_HANDLING_MS = 180_000;
const SHORTEST_MS = 100;
const GRAVE: ReadonlySet<string> = new Set(['warn', 'error', 'fatal']);

/** `hookkit serve` in a process of its own. */
export interface Service {
  readonly port: number;
  readonly adminUrl: string;
  /** milliseconds from the start of the process until it answers that it can record */
  readonly readyMs: number;
  /** what the process holds, in MB (10^6 bytes) */
  rss(): number;
  /** Resolves once nothing is pending or running. @returns how many were when it was called */
  handled(): Promise<number>;
}

/** Runs the service on a database, and ends it in order. @param subscribers how many it has, whose handlers do nothing */
export async function withService<T>(
  url: string,
  use: (service: Service) => Promise<T>,
  subscribers = 0,
): Promise<T> {
  const began = performance.now();
  const child = watched(
    spawn(process.execPath, [fileAt('../bin/hookkit.js'), 'serve'], {
      cwd: directory,
      env: { ...ENVIRONMENT, DATABASE_URL: url, SUBSCRIBERS: `${subscribers}` },
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  try {
    // Its log tells where it listens: asking over and over would take the cores that it starts on.
    const told = await new Promise<{ port: number; url: string }>((resolve, reject) => {
      const seen: { port?: number; url?: string; level?: string } = {};
      createInterface(child.stdout ?? process.stdin).on('line', (line) => {
        Object.assign(seen, JSON.parse(line));
        if (GRAVE.has(seen.level ?? '')) say(line);
        if (seen.port !== undefined && seen.url !== undefined) resolve({ port: seen.port, url: seen.url });
      });
      child.once('exit', (code) => reject(new Error(`hookkit serve ended with ${code}`)));
      setTimeout(() => reject(new Error('hookkit serve does not listen')), MOST_START_MS).unref();
    });
    const { status } = await fetch(`http://127.0.0.1:${told.port}/readyz`);
    if (status !== 200) throw new Error(`/readyz answers ${status}`);
    const readyMs = performance.now() - began;
    return await use({
      port: told.port,
      adminUrl: told.url,
      readyMs,
      rss: () => rssOf(child.pid),
      handled: () => untilHandled(() => unhandled(told.url)),
    });
  } finally {
    await ended(child, 'SIGTERM');
  }
}

/** Resolves once `unhandled` counts none. @returns how many it counted first */
export async function untilHandled(unhandled: () => Promise<number>): Promise<number> {
  const end = performance.now() + MOST_HANDLING_MS;
  const left = await unhandled();
  for (let now = left; now > 0; now = await unhandled()) {
    if (performance.now() > end) throw new Error(`${now} events are not handled`);
    // About as long as the rest takes: to count them costs the target time.
    await sleep(Math.max(SHORTEST_MS, now / 10));
  }
  return left;
}

async function unhandled(adminUrl: string): Promise<number> {
  const answer = await fetch(`${adminUrl}/api/stats`);
  const { events } = (await answer.json()) as { events: { pending: number; running: number } };
  return events.pending + events.running;
}

/** As Linux tells it; NaN elsewhere. */
function rssOf(pid: number | undefined): number {
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return (Number(found?.[1]) * 1024) / 1e6;
  } catch {
    return Number.NaN;
  }
}
