import { systemClock } from './base/clock.ts';
import { type Admin, harmless } from './observer.ts';
import type { Service, ServiceOptions } from './service.ts';
import { openForServer } from './store/open.ts';
import { refusePredictable } from './store/predictable-secrets.ts';

type Options = Pick<ServiceOptions, 'config' | 'app' | 'log'> & {
  /** how many lines of the log were dropped */
  readonly droppedLogLines?: () => number;
  /** false: the store has no threads of its own, so that the start takes less time; commits then hold up everything else */
  readonly threads?: boolean;
};

/** Starts the service as the commands run it: on the machine's clock, with the inspector. */
export async function start(options: Options): Promise<Service> {
  const { config, app, log } = options;
  let admin: Admin | undefined;
  const store = openForServer(config, {
    clock: systemClock,
    log,
    threads: options.threads,
    onCommit: harmless(() => admin?.observer, log, systemClock).committed,
  }).then(async (opened) => {
    await refusePredictable(opened, config).catch(async (error) => {
      await opened.close();
      throw error;
    });
    return opened;
  });
  store.catch(() => {}); // startService reports it
  // Loaded while the store's thread starts.
  const { startService } = await import('./service.ts');
  admin = (await import('./inspector/index.ts')).createInspector(systemClock, options.droppedLogLines);
  return startService({ config, app, log, store, clock: systemClock, random: Math.random, admin });
}
