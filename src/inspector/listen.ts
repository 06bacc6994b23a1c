import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KitError, messageOf } from '../base/errors.ts';
import { boundedServer } from '../base/listener.ts';

export interface AdminListener {
  /** as a browser on this machine asks for it */
  readonly url: string;
  /** Ends what is under way, live tails too. */
  stop(): Promise<void>;
}

/** Anybody who reaches the listener may connect and ask, before a token is looked at. */
const BOUNDS = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  keepAliveTimeoutMs: 5000,
  bodyLimit: 16_384,
  maxConnections: 500,
} as const;

/** @throws KitError LISTEN_FAILED if the address is taken or not to be had */
export async function listen(
  app: RequestListener,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<AdminListener> {
  const server = boundedServer(app, BOUNDS).listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const message = `cannot listen on ${host}:${port}: ${messageOf(cause)}; set ADMIN_HOST and ADMIN_PORT`;
    throw new KitError('LISTEN_FAILED', message, { cause });
  }
  const { port: bound } = server.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${name}:${bound}`,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
