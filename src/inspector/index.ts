import type { RequestListener } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Admin, AdminParts } from '../observer.ts';
import type { BulkReplays } from './api/replays.ts';
import { listen } from './listen.ts';
import { Watch } from './watch/watch.ts';

/**
 * The admin listener: pages, a JSON API and metrics. Hand it to `startService` as `admin`.
 * @param droppedLogLines how many lines of the log were dropped since the start
 * @example await startService({ ...options, admin: createInspector(systemClock) });
 */
export function createInspector(clock: Clock, droppedLogLines?: () => number): Admin {
  const watch = new Watch(clock, droppedLogLines);
  return {
    observer: watch,
    async start(parts) {
      const { ADMIN_HOST: host, ADMIN_PORT: port } = parts.config;
      let replays: BulkReplays | undefined;
      const app = onFirstRequest(async () => {
        const { adminApp } = await import('./admin-app.ts');
        const { BulkReplays } = await import('./api/replays.ts');
        replays = new BulkReplays(parts);
        return adminApp({ ...parts, watch, replays });
      }, parts.log);
      const { url, stop } = await listen(app, { host, port });
      parts.log.info({ url }, 'inspecting');
      return {
        url,
        async stop() {
          await stop();
          await replays?.stop();
        },
      };
    },
  };
}

/** Loads an app at its first request: a server without visitors starts faster and smaller. */
function onFirstRequest(load: () => Promise<RequestListener>, log: AdminParts['log']): RequestListener {
  let loading: Promise<RequestListener> | undefined;
  return (req, res) => {
    loading ??= load();
    loading.then(
      (app) => app(req, res),
      (error) => {
        loading = undefined;
        log.error({ error: messageOf(error) }, 'cannot load the inspector');
        res.writeHead(500).end();
      },
    );
  };
}
