import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { SECRET } from '../support/notifications.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const HANDLERS = join(import.meta.dirname, 'handlers/quick.ts');

/** What a service holds in memory, in MiB. */
export function rssOf({ child }: ServiceProcess): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', `${child.pid}`])) / 1024);
}

/** A database for each test, and services on it in processes of their own. */
export class FaultStage {
  /** the database file */
  path = '';
  readonly #cleanUps: (() => unknown)[] = [];

  constructor() {
    beforeEach(async () => {
      const directory = await temporaryDirectory();
      this.path = join(directory, 'receiver.db');
      this.#cleanUps.push(() => rmSync(directory, { recursive: true }));
    });
    afterEach(async () => {
      for (const cleanUp of this.#cleanUps.splice(0).reverse()) await cleanUp();
    });
  }

  async start(env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    const base = { DATABASE_URL: `sqlite:${this.path}`, WEBHOOK_SECRET: SECRET, HANDLERS };
    const service = await startProcess({ ...base, ...env });
    this.#cleanUps.push(() => service.kill());
    return service;
  }

  /** Opens the database beside the services. */
  async open(): Promise<EventStore> {
    const store = await openStore({ url: `sqlite:${this.path}`, clock: systemClock });
    this.#cleanUps.push(() => store.close());
    return store;
  }
}
