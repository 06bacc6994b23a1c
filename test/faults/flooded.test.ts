import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
import { genuineLoad, line, quantile, type Seen, together } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
const PER_SECOND = 5000;
const CONNECTIONS = 1000;
const ROUNDS = 3;
const GENUINE = 300;
const GENUINE_CLIENTS = 4;
/** How much slower than in quiet the slowest hundredth of genuine notifications may be beside a flood. */
const MOST_TIMES = 5;

interface Flood {
  readonly statuses: Record<string, number>;
  sent: number;
  /** this process's own use of a core */
  end(): number;
}

/** Forged notifications at a steady rate, spread evenly over connections that each have one under way, and over so many sources. */
function flood(port: number, sources: number): Flood {
  const body = bodyOf(5_000_000);
  const token = tokenOf(body, 'forged');
  const requestOf = (number: number) => {
    const source = number % sources;
    const address = `10.${source >> 16}.${(source >> 8) & 255}.${source & 255}`;
    const headers = [`Authorization: Bearer ${token}`, `X-Forwarded-For: ${address}`];
    return postText('/webhooks/media', [...headers, `Content-Length: ${body.length}`], body, 'keep-alive');
  };
  const requests = Array.from({ length: Math.max(sources, CONNECTIONS) }, (_, number) => requestOf(number));
  const began = performance.now();
  const cpu = process.cpuUsage();
  let next = 0;
  const free: (() => void)[] = [];
  const statuses: Record<string, number> = {};
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const send = () => {
      seen.sent++;
      socket.write(requests[next++ % requests.length] ?? '');
    };
    socket.on('connect', () => free.push(send));
    socket.on('data', (chunk) => {
      const status = chunk.toString('latin1', 9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      free.push(send);
    });
    socket.on('error', () => {});
    return socket;
  });
  const timer = setInterval(() => {
    const due = Math.min(
      free.length,
      Math.floor(((performance.now() - began) / 1000) * PER_SECOND) - seen.sent,
    );
    for (const send of free.splice(0, Math.max(0, Math.min(due, 50)))) send();
  }, 2);
  const seen: Flood = {
    statuses,
    sent: 0,
    end() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
      const { user, system } = process.cpuUsage(cpu);
      return (user + system) / 1000 / (performance.now() - began);
    },
  };
  return seen;
}

const p99 = ({ latencies }: Seen) => Number(quantile(latencies, 0.99));

test.each([1, 100, 10_000])(
  `genuine notifications take at most ${MOST_TIMES} times as long as in quiet, at the slowest hundredth, beside ${PER_SECOND} forged ones a second over ${CONNECTIONS} connections from %i sources`,
  async (sources) => {
    const service = await stage().start({ TRUST_PROXY: '1' });
    const port = Number(new URL(service.url).port);
    const load = { url: service.url, requests: GENUINE, clients: GENUINE_CLIENTS };
    await genuineLoad({ ...load, requests: 2000 });
    const quiet: Seen[] = [];
    const beside: Seen[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      quiet.push(await genuineLoad(load));
      const flooded = flood(port, sources);
      const began = performance.now();
      while (flooded.sent < PER_SECOND) await new Promise((resolve) => setTimeout(resolve, 20));
      beside.push(await genuineLoad(load));
      const rate = Math.round((1000 * flooded.sent) / (performance.now() - began));
      const core = flooded.end();
      process.stdout.write(
        `forged: ${rate} a second, ${JSON.stringify(flooded.statuses)}, this process ${core.toFixed(2)} of a core\n`,
      );
    }
    process.stdout.write(
      `${line('quiet', together(quiet))}\n${line(`beside ${sources} sources`, together(beside))}\n`,
    );
    expect(together(beside).statuses).toEqual({ 200: ROUNDS * GENUINE });
    expect(p99(together(beside))).toBeLessThan(MOST_TIMES * p99(together(quiet)));
  },
  300_000,
);
