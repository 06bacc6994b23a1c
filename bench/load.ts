import { connect } from 'node:net';
import { keyOf, signNotification } from '../src/notification/token.ts';
import { BENCH_SECRET } from './secret.ts';

// The load generator, in a process of its own: so many connections, each sending its next request when it has the answer
// to the last. Every request is a distinct, genuine notification, signed before the clock starts.
// Arguments: port, connections, requests, a number that makes the notifications distinct.

export interface LoadResult {
  readonly perSecond: number;
  /** milliseconds */
  readonly p50: number;
  readonly p99: number;
  readonly notOk: number;
  /** this process's own use of a core, 0 to 1 */
  readonly cpu: number;
}

function requests(count: number, series: number): Buffer[] {
  const key = keyOf(BENCH_SECRET);
  return Array.from({ length: count }, (_, n) => {
    const event_time = new Date(1_700_000_000_000 + Math.floor(n / 1000) * 1000).toISOString();
    const body = JSON.stringify({
      event: 'media_available',
      media_id: `${series.toString(36)}x${n.toString(36)}`,
      webhook_id: '2yW4KmiG',
      site_id: '9KboGBFu',
      event_time: event_time.replace('.000Z', '+00:00'),
    });
    return Buffer.from(
      `POST /webhooks/media HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
        `Authorization: Bearer ${signNotification(body, key)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}

async function run(port: number, connections: number, count: number, series: number): Promise<LoadResult> {
  const all = requests(count, series);
  const times: number[] = [];
  let next = 0;
  let notOk = 0;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      let sentAt = 0;
      const send = () => {
        const request = all[next++];
        if (!request) return resolve(void socket.destroy());
        sentAt = performance.now();
        socket.write(request);
      };
      socket.on('connect', send).on('error', reject);
      // The answers are far smaller than a packet on loopback, so each arrives whole.
      socket.on('data', (answer) => {
        times.push(performance.now() - sentAt);
        if (answer.subarray(9, 12).toString() !== '200') notOk++;
        send();
      });
    });
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0;
  return {
    perSecond: count / seconds,
    p50: at(0.5),
    p99: at(0.99),
    notOk,
    cpu: (user + system) / 1e6 / seconds,
  };
}

if (process.send) {
  const [port = 0, connections = 0, count = 0, series = 0] = process.argv.slice(2).map(Number);
  process.send(await run(port, connections, count, series));
  process.disconnect();
}
