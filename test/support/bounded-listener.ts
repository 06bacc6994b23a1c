import type { RequestListener } from 'node:http';
import { type BoundedServerOptions, boundedServer } from '../../src/base/bounded-server.ts';
import { Listener } from '../../src/base/listener.ts';

interface BoundedListenerOptions extends BoundedServerOptions {
  readonly host: string;
  readonly port: number;
}

/** An app on a listener as the service has it. */
export function boundedListener(app: RequestListener, options: BoundedListenerOptions): Promise<Listener> {
  const { host, port } = options;
  return Listener.start(boundedServer(app, options), { host, port, settings: 'HOST and PORT' });
}
