import { systemClock } from '../clock.ts';
import { createInspector } from '../inspector/index.ts';
import { type Service, type ServiceOptions, startService } from '../service.ts';

/** Starts the service as every command runs it: on the machine's clock, and watched. */
export function start(options: Pick<ServiceOptions, 'config' | 'handlers' | 'log'>): Promise<Service> {
  return startService({
    ...options,
    clock: systemClock,
    random: Math.random,
    admin: createInspector(systemClock),
  });
}
