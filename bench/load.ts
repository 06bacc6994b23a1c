import { connect } from 'node:net';
import { keyOf, signNotification } from '../src/notification/token.ts';
import { mediaId, mediaNumber } from './fill.ts';
import { quantile } from './measure.ts';
import { BENCH_SECRET } from './secret.ts';

// The load generator, in a process of its own: so many connections, each sending its next request when it has the answer
// to the last. Every request is a distinct, genuine notification, signed before the clock starts.

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly requests: number;
  /** what makes these notifications others than those of any other load */
  readonly series: string;
}

export interface LoadResult {
  readonly perSecond: number;
  /** milliseconds */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** answers that were not a 200 of a new notification */
  readonly refused: number;
  /** this process's own use of a core, 0 to 1 */
  readonly cpu: number;
}

/** Of media in no order, as ids are, and the same that a filled database has: each look-up lands somewhere else. */
function signed({ requests, series }: LoadOptions): Buffer[] {
  const key = keyOf(BENCH_SECRET);
  const now = Math.floor(Date.now() / 1000);
  return Array.from({ length: requests }, (_, n) => {
    const time = new Date((now + Math.floor(n / 1000)) * 1000).toISOString();
    const body = JSON.stringify({
      event: 'media_available',
      media_id: mediaId(mediaNumber(n)),
      webhook_id: '2yW4KmiG',
      site_id: series,
      event_time: time.replace('.000Z', '+00:00'),
    });
    return Buffer.from(
      `POST /webhooks/media HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
        `Authorization: Bearer ${signNotification(body, key)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}

async function run(options: LoadOptions): Promise<LoadResult> {
  const { port, connections, requests } = options;
  const all = signed(options);
  const times: number[] = [];
  let next = 0;
  let refused = 0;
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
      socket.on('close', () => reject(new Error('the server closed a connection')));
      // The answers are far smaller than a packet on loopback, so each arrives whole.
      socket.on('data', (answer) => {
        times.push(performance.now() - sentAt);
        if (answer.subarray(9, 12).toString() !== '200' || !answer.includes('"accepted"')) refused++;
        send();
      });
    });
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    perSecond: requests / seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    p999: quantile(times, 0.999),
    refused,
    cpu: (user + system) / 1e6 / seconds,
  };
}

process.send?.(await run(JSON.parse(process.argv[2] ?? '{}')));
process.disconnect?.();
