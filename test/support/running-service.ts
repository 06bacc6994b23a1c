import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { type MonotonicClock, systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import { createInspector } from '../../src/inspector/index.ts';
import { type Service, startService } from '../../src/service.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { type LogLines, logLines } from './log-lines.ts';
import { SECRET } from './notifications.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A service in this process, on a database of its own unless DATABASE_URL names one. It stops with the suite, unless it has by then. */
export interface RunningService extends Service {
  readonly url: string;
  /** its own database file */
  readonly path: string;
  readonly log: LogLines;
}

export interface RunOptions {
  /** has handlers of its own, in place of those given first */
  readonly app?: ReadyApp;
  readonly clock?: MonotonicClock;
  /** whether its store has threads, as in production: they take long to start; without them an ack waits for queries, and none is timed */
  readonly threads?: boolean;
  /** puts another store in front of its own, which then has no threads */
  readonly wrap?: (store: EventStore) => EventStore;
  readonly inspected?: boolean;
  readonly isDev?: boolean;
}

const running: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of running) await stop();
});

export async function runService(
  handlers: Handlers,
  env: Readonly<Record<string, string>> = {},
  options: RunOptions = {},
): Promise<RunningService> {
  const {
    app = { handlers },
    clock = systemClock,
    threads = false,
    wrap = (one) => one,
    inspected,
    isDev,
  } = options;
  const path = join(await temporaryDirectory(), 'receiver.db');
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: `sqlite:${path}`,
    WEBHOOK_SECRET: SECRET,
    DRAIN_MS: '0',
    SHUTDOWN_GRACE_MS: '200',
    ...env,
  });
  const log = logLines();
  const admin = inspected ? createInspector(clock) : undefined;
  const onCommit = (ms: number) => admin?.observer.committed(ms);
  const store = openStore({ ...config, clock, threads, onCommit }).then(wrap);
  const service = await startService({ config, app, clock, log: log.log, store, admin, isDev });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  running.push(stop);
  return { ...service, stop, url: `http://127.0.0.1:${service.port}`, path, log };
}
