import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';

/** Handlers that are done at once, so that what is measured is the service. */
const HANDLERS = join(import.meta.dirname, 'handlers/quick.ts');

/** Starts a service for loads on a database. */
export function startLoaded(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return startProcess({ WEBHOOK_SECRET: SECRET, HANDLERS, ...env });
}

/** What a service holds in memory, in MiB. */
export function rssOf({ child }: ServiceProcess): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', `${child.pid}`])) / 1024);
}

let next = 0;

/** The text of a request with a notification, each of them new, on a connection that stays open. */
function nextRequest(): string {
  const body = bodyOf(next++);
  const headers = [`Authorization: Bearer ${tokenOf(body, SECRET)}`, `Content-Length: ${body.length}`];
  return postText('/webhooks/media', headers, body, 'keep-alive');
}

/** Sends genuine notifications. @returns how often each status was answered, and the ids of what was acknowledged */
export async function genuineLoad(
  url: string,
  load: { readonly requests: number; readonly connections: number },
) {
  const statuses: Record<string, number> = {};
  const ids: string[] = [];
  const client = () =>
    sendInTurn(url, load.requests / load.connections, (status, body) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      const { id }: { readonly id?: string } = JSON.parse(body);
      if (id !== undefined) ids.push(id);
    });
  await Promise.all(Array.from({ length: load.connections }, client));
  return { statuses, ids };
}

/** Sends so many over one connection, each once the one before is answered; resolves when the connection is closed after the last. */
function sendInTurn(
  url: string,
  requests: number,
  answered: (status: string, body: string) => void,
): Promise<void> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' }).setEncoding('latin1');
  let left = requests;
  const sendNext = () => {
    if (left-- > 0) socket.write(nextRequest());
    else socket.end();
  };
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
    const [, status, body = ''] = /^HTTP\/1\.1 (\d{3}) .*?\r\n\r\n(\{.*\})$/s.exec(received) ?? [];
    if (status === undefined) return;
    received = '';
    answered(status, body);
    sendNext();
  });
  sendNext();
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}
