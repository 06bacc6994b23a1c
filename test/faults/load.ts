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

/** An answer as it came over a connection. */
interface Answer {
  readonly status: string;
  readonly body: string;
}

/** The text of a request with a notification, on a connection that stays open. */
export function requestWith(body: string): string {
  const headers = [`Authorization: Bearer ${tokenOf(body, SECRET)}`, `Content-Length: ${body.length}`];
  return postText('/webhooks/media', headers, body, 'keep-alive');
}

let next = 0;

/** Sends so many genuine notifications, each of them new, over eight connections. @returns how often each status was answered */
export async function genuineLoad(url: string, requests: number): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  function* each(count: number) {
    for (let sent = 0; sent < count; sent++) yield requestWith(bodyOf(next++));
  }
  const client = () =>
    sendInTurn(url, each(requests / 8), ({ status }) => {
      statuses[status] = (statuses[status] ?? 0) + 1;
    });
  await Promise.all(Array.from({ length: 8 }, client));
  return statuses;
}

/** Sends requests over one connection, each once the one before is answered; resolves when the connection is closed after the last. */
export function sendInTurn(
  url: string,
  requests: Iterator<string>,
  answered: (answer: Answer) => void,
): Promise<void> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' }).setEncoding('latin1');
  const sendNext = () => {
    const { value, done } = requests.next();
    if (done === true) socket.end();
    else socket.write(value);
  };
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
    const [, status, body = ''] = /^HTTP\/1\.1 (\d{3}) .*?\r\n\r\n(\{.*\})$/s.exec(received) ?? [];
    if (status === undefined) return;
    received = '';
    answered({ status, body });
    sendNext();
  });
  sendNext();
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}
