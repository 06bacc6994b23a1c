import type { Clock } from '../base/clock.ts';
import { boundedServer, listen } from '../base/http-server.ts';
import { connectionsWithin } from '../config.ts';
import type { Admin } from '../observer.ts';
import { adminApp } from './admin-app.ts';
import { bulkVerbsOf } from './api/verbs.ts';
import { registeredWebhooks } from './api/webhooks.ts';
import { keepAlerting } from './watch/alerts.ts';
import { Watch } from './watch/watch.ts';

/** Every client that reaches the listener may connect and send a request, before its token is checked. */
const BOUNDS = { BODY_LIMIT: 16_384, MAX_CONNECTIONS: connectionsWithin(500, 1 / 8) };

/**
 * The admin listener: pages, a JSON API and metrics. Hand it to `startService` as `admin`.
 * @param droppedLogLines how many lines of the log were dropped since the start
 * @example await startService({ ...options, admin: createInspector(systemClock) });
 */
export function createInspector(clock: Clock, droppedLogLines = () => 0): Admin {
  const watch = new Watch(clock);
  return {
    observer: watch,
    keepReporting: (needs) => watch.keepReporting(needs),
    async start(parts) {
      const { ADMIN_HOST: host, ADMIN_PORT: port } = parts.config;
      const verbs = bulkVerbsOf(parts);
      const registered = registeredWebhooks(parts);
      const app = adminApp({ ...parts, watch, verbs, registered, droppedLogLines });
      const server = boundedServer(app, { ...parts.config, ...BOUNDS });
      const listener = await listen(server, { host, port, settings: 'ADMIN_HOST and ADMIN_PORT' });
      const stopAlerting = keepAlerting(parts, watch);
      parts.log.info({ url: listener.url }, 'inspecting');
      return {
        url: listener.url,
        async stop() {
          stopAlerting();
          await Promise.all([verbs.stop(), listener.stop()]); // ends live tails too
        },
      };
    },
  };
}
