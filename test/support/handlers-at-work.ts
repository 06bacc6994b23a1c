import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { Handlers } from '../../src/index.ts';
import type { EventStore, StoredEvent } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { toVerified } from '../../src/store/verified.ts';
import { notification } from './genuine.ts';
import { type LogLines, logLines } from './log-lines.ts';
import { present } from './only.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A database, a dispatcher and a clock that stands still unless something waits for it. */
export interface HandlersAtWork {
  readonly store: EventStore;
  readonly log: LogLines;
  /** Records a genuine notification, some of its members changed. */
  record(members?: Readonly<Record<string, unknown>>): Promise<StoredEvent['id']>;
  /** Runs handlers until nothing waits any more. */
  runAll(handlers: Handlers): Promise<void>;
  event(id: string): Promise<StoredEvent>;
}

/** Gives every test of a block a database of its own. */
export function handlersAtWork(): () => HandlersAtWork {
  let work: (HandlersAtWork & { readonly cleanUp: () => Promise<void> }) | undefined;
  beforeEach(async () => {
    work = await build();
  });
  afterEach(async () => {
    await work?.cleanUp();
    work = undefined;
  });
  return () => present(work);
}

async function build() {
  const directory = await temporaryDirectory();
  const clock = new VirtualClock();
  const store = await openStore({ url: `sqlite:${join(directory, 'receiver.db')}`, clock, threads: false });
  const log = logLines();
  let dispatcher: Dispatcher | undefined;
  return {
    store,
    log,
    async record(members: Readonly<Record<string, unknown>> = {}) {
      const body = notification(members);
      return (await store.record(toVerified(body, JSON.stringify(body)))).id;
    },
    async runAll(handlers: Handlers) {
      if (!dispatcher) {
        dispatcher = new Dispatcher({
          config: parseConfig({
            HANDLER_TIMEOUT_MS: '1000',
            RETRY_MAX_ATTEMPTS: '5',
            RETRY_BASE_MS: '100',
            RETRY_CAP_MS: '1000',
          }),
          app: { handlers },
          store,
          clock,
          log: log.log,
          random: () => 0.5,
        });
        dispatcher.start();
      }
      for (;;) {
        const { pending, running } = await store.overview();
        if (pending + running === 0) return;
        if (running === 0) await clock.advance(500); // none waits for the network
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    event: async (id: string) => present(await store.event(id)),
    async cleanUp() {
      await dispatcher?.stop(0);
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}
