import type { Clock } from '../clock.ts';
import type { Admin } from '../observer.ts';
import { adminApp } from './admin-app.ts';
import { listen } from './listen.ts';
import { Watch } from './watch/watch.ts';

/**
 * The admin listener: pages, a JSON API and metrics. Hand it to `startService` as `admin`.
 * @example await startService({ ...options, admin: createInspector(systemClock) });
 */
export function createInspector(clock: Clock): Admin {
  const watch = new Watch(clock);
  return {
    observer: watch,
    async start(parts) {
      const { ADMIN_HOST: host, ADMIN_PORT: port } = parts.config;
      const listener = await listen(adminApp({ ...parts, watch }), { host, port });
      parts.log.info({ url: listener.url }, 'inspecting');
      return listener;
    },
  };
}
