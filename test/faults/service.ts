import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { SECRET } from '../support/notifications.ts';
import { present } from '../support/only.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export interface FaultStage {
  /** the database file */
  readonly path: string;
  /** Starts a service on the database; it ends with the test. */
  start(env?: Readonly<Record<string, string>>): Promise<ServiceProcess>;
  /** Opens the database beside the service; closed with the test. */
  open(): Promise<EventStore>;
  /** Ends a service in order; resolves with its exit code. */
  stop(service: ServiceProcess): Promise<number | null>;
}

const handlers = new URL('./handlers/quick.ts', import.meta.url);

/** Gives every test of a file a directory and services in processes of their own. */
export function eachWithService(): () => FaultStage {
  let stage: (FaultStage & { cleanUp(): Promise<void> }) | undefined;
  beforeEach(async () => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'receiver.db');
    const services: ServiceProcess[] = [];
    const stores: EventStore[] = [];
    stage = {
      path,
      async start(env = {}) {
        const base = { DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET, LOG_LEVEL: 'fatal' };
        const service = await startProcess({ ...base, ...env }, handlers);
        services.push(service);
        return service;
      },
      async open() {
        const store = await openStore({ url: `sqlite:${path}`, clock: systemClock });
        stores.push(store);
        return store;
      },
      stop(service) {
        service.child.kill('SIGTERM');
        return service.exited;
      },
      async cleanUp() {
        for (const store of stores) await store.close();
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
