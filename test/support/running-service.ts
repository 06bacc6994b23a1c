import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type MonotonicClock, systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { type Service, startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import { SECRET } from './notifications.ts';

/** A service in this process, on a database of its own. */
export interface RunningService extends Service {
  readonly url: string;
  /** the database file */
  readonly path: string;
  /** Stops it, if it still runs, and removes the database. */
  dispose(): Promise<void>;
}

export interface RunOptions {
  readonly clock?: MonotonicClock;
  /** false: its store has none, as each takes long to start; an ack then waits for queries, and commits are not timed */
  readonly threads?: boolean;
}

export async function runService(
  handlers: Handlers,
  env: Readonly<Record<string, string>> = {},
  { clock = systemClock, threads = true }: RunOptions = {},
): Promise<RunningService> {
  const directory = mkdtempSync(join(tmpdir(), 'hookkit-service-'));
  const path = join(directory, 'receiver.db');
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: `sqlite:${path}`,
    WEBHOOK_SECRET: SECRET,
    DRAIN_MS: '0',
    SHUTDOWN_GRACE_MS: '200',
    ...env,
  });
  const log = pino({ level: 'silent' });
  const { DATABASE_URL: url, SECRETS_KEY: secretsKey } = config;
  const store = threads ? undefined : openStore({ url, clock, secretsKey, threads });
  const service = await startService({ config, app: { handlers }, store, clock, log, random: Math.random });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  return {
    ...service,
    stop,
    url: `http://127.0.0.1:${service.port}`,
    path,
    async dispose() {
      await stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
