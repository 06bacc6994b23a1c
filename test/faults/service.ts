import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { SECRET } from '../support/notifications.ts';
import { present } from '../support/only.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export interface FaultStage {
  /** the database file */
  readonly path: string;
  /** Starts a service on the database; it ends with the test. */
  start(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** Ends a service in order; resolves with its exit code. */
  stop(service: ServiceProcess): Promise<number | null>;
}

const none = new URL('../hardening/handlers/none.ts', import.meta.url);

/** Gives every test of a file a directory and services in processes of their own. */
export function eachWithService(): () => FaultStage {
  let stage: (FaultStage & { cleanUp(): Promise<void> }) | undefined;
  beforeEach(async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'receiver.db');
    const services: ServiceProcess[] = [];
    stage = {
      path,
      async start(env = {}) {
        const base = { DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET, LOG_LEVEL: 'fatal' };
        const service = await startProcess({ ...base, ...env }, none);
        services.push(service);
        return service;
      },
      stop(service) {
        service.child.kill('SIGTERM');
        return service.exited;
      },
      async cleanUp() {
        for (const { child, exited } of services) {
          child.kill('SIGKILL');
          await exited;
        }
        rmSync(directory, { recursive: true });
      },
    };
  });
  afterEach(() => stage?.cleanUp());
  return () => present(stage);
}
