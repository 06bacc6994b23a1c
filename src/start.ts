import { setFlagsFromString } from 'node:v8';
import { systemClock } from './base/clock.ts';
import type { Admin } from './observer.ts';
import type { Service, ServiceOptions } from './service.ts';
import { engineOf, openStore } from './store/open.ts';

type Options = Pick<ServiceOptions, 'config' | 'app' | 'log' | 'isDev'> & {
  /** how many lines of the log were dropped */
  readonly droppedLogLines?: () => number;
};

/** V8 lets the memory for new objects grow no further, here and in the store's threads: else it takes some 100 MB more under load, and is no faster. */
const KEEP_YOUNG_GENERATION = '--semi-space-growth-factor=1';

/** Starts the service as the commands run it: on the machine's clock, with the inspector. At a terminal, it stops without draining. */
export async function start({ droppedLogLines, ...options }: Options): Promise<Service> {
  const { config, isDev } = options;
  setFlagsFromString(KEEP_YOUNG_GENERATION);
  let admin: Admin | undefined;
  const onCommit = (ms: number) => admin?.observer.committed(ms);
  // A developer waits for the start, and nobody for an ack: without threads, a start takes less time, and commits hold up everything else.
  const store = openStore({ ...config, clock: systemClock, threads: !isDev, onCommit });
  store.catch(() => {}); // startService reports it
  // The store's thread starts, and the rest is loaded meanwhile.
  await engineOf(config.DATABASE_URL);
  const { startService } = await import('./service.ts');
  admin = (await import('./inspector/index.ts')).createInspector(systemClock, droppedLogLines);
  const own = process.stdout.isTTY ? { ...config, DRAIN_MS: 0 } : config;
  return startService({ ...options, config: own, store, clock: systemClock, admin });
}
