import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { KitError, messageOf } from '../base/errors.ts';
import { http } from '../base/node-http.ts';

/** Listens, and says where: `http://127.0.0.1:4010`. @throws KitError LISTEN_FAILED if the port is taken */
export async function listen(
  handler: RequestListener,
  port: number,
  host: string,
): Promise<{ server: Server; url: string }> {
  const server = http.createServer(handler);
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const message = `cannot listen on ${host}:${port}: ${messageOf(cause)}; set MOCK_PORT`;
    throw new KitError('LISTEN_FAILED', message, { cause });
  }
  const address = server.address();
  const actual = typeof address === 'object' && address !== null ? address.port : port;
  return { server, url: `http://${reachable(host)}:${actual}` };
}

/** Stops at once, and ends the requests under way. */
export async function stop(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

/** An address that listens everywhere is not one that a client can connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
