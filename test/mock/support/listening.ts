import { once } from 'node:events';
import { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { endAfterSuite } from '../../support/left-behind.ts';

/** Listens on a free port of this machine, until it is closed or the suite has ended. */
export async function listeningOn(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const end = () => {
    server.close();
    if (server instanceof HttpServer) server.closeAllConnections();
  };
  const forget = endAfterSuite(end);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      forget();
      const closed = once(server, 'close');
      end();
      await closed;
    },
  };
}
