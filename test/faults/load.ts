import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';

let next = 0;

/** What genuine senders saw. */
export interface Seen {
  /** milliseconds from sending to the answer, in order of size */
  readonly latencies: readonly number[];
  readonly statuses: Readonly<Record<number, number>>;
}

export interface LoadOptions {
  readonly url: string;
  readonly requests: number;
  /** connections, each with one request at a time */
  readonly clients?: number;
}

function deliver(url: URL, agent: Agent, body: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${tokenOf(body, SECRET)}`,
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (response: IncomingMessage) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    });
    sent.on('error', reject).end(body);
  });
}

/** Sends genuine notifications, each of them new, and measures how long each answer takes. */
export async function genuineLoad({ url, requests, clients = 8 }: LoadOptions): Promise<Seen> {
  const target = new URL('/webhooks/media', url);
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const latencies: number[] = [];
  const statuses: Record<number, number> = {};
  let left = requests;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const began = performance.now();
      const status = await deliver(target, agent, bodyOf(next++));
      latencies.push(performance.now() - began);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  agent.destroy();
  return { latencies: latencies.sort((one, other) => one - other), statuses };
}

/** A quantile of values in order of size, with one decimal. */
export function quantile(sorted: readonly number[], share: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(1);
}

/** What several rounds saw, taken together. */
export function together(rounds: readonly Seen[]): Seen {
  const statuses: Record<number, number> = {};
  for (const round of rounds) {
    for (const [status, count] of Object.entries(round.statuses)) {
      statuses[Number(status)] = (statuses[Number(status)] ?? 0) + count;
    }
  }
  const latencies = rounds.flatMap((round) => round.latencies).sort((one, other) => one - other);
  return { latencies, statuses };
}

/** A line on what was seen. */
export function line(what: string, { latencies, statuses }: Seen): string {
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  return `${what}: ${JSON.stringify(statuses)}, p50 ${p50} ms, p99 ${p99} ms, slowest ${quantile(latencies, 1)} ms`;
}

/** An answer as it came over a connection. */
interface Answer {
  readonly status: string;
  /** the status line and the headers */
  readonly head: string;
  readonly body: string;
}

/** Sends requests over one connection, each once the one before is answered; resolves when the connection is closed after the last. */
export function sendInTurn(
  port: number,
  requests: Iterator<string>,
  answered: (answer: Answer) => void,
): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' }).setEncoding('latin1');
  const sendNext = () => {
    const { value, done } = requests.next();
    if (done === true) socket.end();
    else socket.write(value);
  };
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
    const [, head = '', status = '', body = ''] =
      /^(HTTP\/1\.1 (\d{3}) .*?\r\n\r\n)(\{.*\})$/s.exec(received) ?? [];
    if (head === '') return;
    received = '';
    answered({ status, head, body });
    sendNext();
  });
  sendNext();
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}
