import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port that nobody listens on now: for processes whose port must be known before they start. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port is free');
  server.close();
  await once(server, 'close');
  return address.port;
}
