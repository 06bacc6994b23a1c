import { createServer, request } from 'node:http';
import { listeningOn } from '../mock/support/listening.ts';

/** Stands before a server, below a path that it removes, with headers of its own beside those of the visitor. */
export async function startProxy(target: string, { path = '', headers = {} } = {}) {
  const server = createServer((visit, answer) => {
    const { method, url = '' } = visit;
    if (!url.startsWith(`${path}/`)) return void answer.writeHead(404).end();
    const asked = { method, headers: { ...visit.headers, ...headers } };
    const passed = request(`${target}${url.slice(path.length)}`, asked, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(answer).on('error', () => {});
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    visit.pipe(passed);
  });
  const { url, close } = await listeningOn(server);
  return { url: `${url}${path}`, close };
}
