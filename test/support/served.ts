import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { sqlitePathOf } from '../../src/base/url.ts';
import { parseConfig } from '../../src/config.ts';
import { loadApp } from '../../src/dispatch/load-handlers.ts';
import { createInspector } from '../../src/inspector/index.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import { logLines } from './log-lines.ts';
import { programEnv } from './sample-handlers.ts';
import { type ServiceProcess, startProcess } from './service-process.ts';
import { size } from './sizes.ts';

/** A server, wherever it runs. */
export interface Served {
  readonly url: string;
  /** What it has logged so far. */
  output(): string;
  /** Ends it in order, if it has not ended. */
  stop(): Promise<void>;
  /** Ends it after the test, whatever has become of it. */
  discard(): Promise<unknown>;
}

interface Serving {
  readonly env: Readonly<Record<string, string>>;
  /** where its .env is */
  readonly cwd?: string;
  readonly handlersModule?: URL | undefined;
}

/** Serves in a process of its own, as a user does. */
export async function serveApart({ env, cwd, handlersModule }: Serving): Promise<Served> {
  return servedBy(await startProcess(env, handlersModule, cwd));
}

function servedBy({ child, url, exited, output }: ServiceProcess): Served {
  return {
    url,
    output,
    async stop() {
      child.kill('SIGTERM');
      const code = await exited;
      if (code !== 0) throw new Error(`the server ended with ${code}:\n${output()}`);
    },
    discard() {
      child.kill('SIGKILL');
      return exited;
    },
  };
}

/** Serves with the settings of a directory in this process, on a store without threads: a start then takes a tenth of the time. */
async function serveHere({ env, cwd = tmpdir(), handlersModule }: Serving): Promise<Served> {
  const given = { ...programEnv, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', ...env };
  const file = join(cwd, '.env');
  const config = parseConfig({ ...(existsSync(file) && parseEnv(readFileSync(file, 'utf8'))), ...given });
  const { log, lines } = logLines(config.LOG_LEVEL);
  const { DATABASE_URL, SECRETS_KEY: secretsKey } = config;
  const path = sqlitePathOf(DATABASE_URL);
  const url = path === undefined ? DATABASE_URL : `sqlite:${resolve(cwd, path)}`;
  const service = await startService({
    config,
    app: handlersModule ? await import(handlersModule.href) : await loadApp(config),
    store: openStore({ url, clock: systemClock, secretsKey, threads: false }),
    clock: systemClock,
    log,
    random: Math.random,
    admin: createInspector(systemClock),
  });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  return { url: `http://127.0.0.1:${service.port}`, output: () => lines.join(''), stop, discard: stop };
}

/** Serves where it is beside the point that a server has a process of its own: at full size it has. */
export const serve = size({ small: serveHere, full: serveApart });
