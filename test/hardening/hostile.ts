import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { corpusRequests } from './corpus.ts';
import { bytesOf } from './corpus-request.ts';
import type { WireRequest } from './wire-request.ts';

const folder = new URL('wire/', import.meta.url);
/** No answer takes so long but that of a service that stands still. */
const LONGEST_MS = 20_000;

/** Those that no HTTP client would send. */
export async function wireRequests(): Promise<readonly WireRequest[]> {
  const files = readdirSync(folder).toSorted();
  const modules: { default: WireRequest }[] = await Promise.all(
    files.map((file) => import(new URL(file, folder).href)),
  );
  return modules.map((module) => module.default);
}

/** Every hostile request that there is, as bytes: a file each of `corpus/` and of `wire/`. */
export async function hostileRequests(): Promise<readonly WireRequest[]> {
  const requests = await corpusRequests();
  const built = requests.map(({ name, expected, build }) => ({
    name,
    expected,
    bytes: (limit: number) => bytesOf(build(limit)),
  }));
  return [...built, ...(await wireRequests())];
}

/** Sends bytes over a connection of their own. Resolves with the status of the first answer; 0 where there is none. */
export function firstStatus(port: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }).setEncoding('latin1');
    let received = '';
    const end = () => {
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1] ?? 0));
    };
    socket.on('data', (chunk) => {
      received += chunk;
      if (received.includes('\r\n\r\n')) end();
    });
    socket.on('error', () => {}); // a reset while it still sends; what came before it counts
    socket.on('close', end);
    socket.setTimeout(LONGEST_MS, end);
    socket.write(bytes);
  });
}
