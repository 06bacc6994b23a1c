import { connect } from 'node:net';
import { quantile } from './measure.ts';
import { signedRequests } from './signed.ts';
import { hasWrk, loadByWrk } from './wrk.ts';

// The load generator, in a process of its own: so many connections, each sending its next request when it has the answer
// to the last. Every request is a distinct, genuine notification, signed before the clock starts.

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** how many requests are signed beforehand; without it, more than any server answers in that time */
  readonly most?: number;
  /** whether they may be sent again once all were sent: to a server that records nothing */
  readonly mayRepeat?: boolean | undefined;
  /** what makes these notifications others than those of any other load */
  readonly series: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** milliseconds */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  /** answers that were not a 200 of a new notification (wrk sees the 200 alone), and connections that failed */
  readonly refused: number;
  /** the generator's own use of a core, 0 to 1 */
  readonly cpu: number;
}

/** More requests than any server here answers in a second, over one connection and over many. */
const MOST_OVER_ONE = 40_000;
const MOST_OVER_MANY = 80_000;

/** Where there is no wrk. Writing this in Node takes a fair half of what two cores can do. */
async function loadByNode(all: readonly Buffer[], options: LoadOptions): Promise<LoadResult> {
  const { port, connections, seconds } = options;
  const times: number[] = [];
  let next = 0;
  let refused = 0;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const end = began + seconds * 1000;
  const client = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1').setNoDelay(true);
      let sentAt = 0;
      const send = () => {
        sentAt = performance.now();
        if (options.mayRepeat && next === all.length) next = 0;
        const request = sentAt < end ? all[next++] : undefined;
        if (request) socket.write(request);
        else resolve(void socket.destroy());
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
  const took = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    requests: times.length,
    perSecond: times.length / took,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    p999: quantile(times, 0.999),
    refused,
    cpu: (user + system) / 1e6 / took,
  };
}

const options: LoadOptions = JSON.parse(process.argv[2] ?? '{}');
const { connections, seconds } = options;
const { most = Math.ceil((connections === 1 ? MOST_OVER_ONE : MOST_OVER_MANY) * seconds) } = options;
const all = signedRequests(most, options.series);
process.send?.(await (hasWrk ? loadByWrk : loadByNode)(all, options));
process.disconnect?.();
