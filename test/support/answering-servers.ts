import { createServer } from 'node:http';
import { afterEach } from '@jest/globals';
import { listeningOn } from '../mock/support/listening.ts';

/** Gives each test of a file servers that answer everything alike, and closes them. */
export function answeringServers() {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
  return async (status: number, headers: Record<string, string>, body = ''): Promise<string> => {
    const { url, close } = await listeningOn(
      createServer((_request, response) => {
        response.sendDate = !('Date' in headers) && !('X-No-Date' in headers);
        response.writeHead(status, headers).end(body);
      }),
    );
    closers.push(close);
    return url;
  };
}
