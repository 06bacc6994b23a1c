import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
import { genuineLoad, line, quantile, type Seen, together } from './load.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
const PER_SECOND = 5000;
/** With fewer, the flood is none, unless all its connections wait for answers: then the service gets as many as it takes. */
const LEAST_PER_SECOND = 4500;
const CONNECTIONS = 1000;
const ROUNDS = 3;
const GENUINE = 300;
const GENUINE_CLIENTS = 4;
/** How much slower than in quiet the slowest hundredth of genuine notifications may be beside a flood. */
const MOST_TIMES = 5;

interface Flood {
  readonly statuses: Record<string, number>;
  sent: number;
  /** how many should have been sent when all connections still waited for their answers */
  late: number;
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
    const due = Math.floor(((performance.now() - began) / 1000) * PER_SECOND) - seen.sent;
    for (const send of free.splice(0, Math.max(0, Math.min(due, MOST_AT_ONCE)))) send();
    if (free.length === 0 && due > 0) seen.late = Math.max(seen.late, due);
  }, 2);
  const seen: Flood = {
    statuses,
    sent: 0,
    late: 0,
    end() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
      const { user, system } = process.cpuUsage(cpu);
      return (user + system) / 1000 / (performance.now() - began);
    },
  };
  return seen;
}

/** So that a timer that comes late does not make one burst of all that is due. */
const MOST_AT_ONCE = 50;

interface Round {
  readonly quiet: Seen;
  readonly beside: Seen;
  /** forged notifications that were sent a second, while the genuine ones were */
  readonly rate: number;
  /** whether the flood was one */
  readonly isOffered: boolean;
}

function answeredOf({ statuses }: Flood): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}

async function roundOf(url: string, sources: number): Promise<Round> {
  const load = { url, requests: GENUINE, clients: GENUINE_CLIENTS };
  const quiet = await genuineLoad(load);
  const flooded = flood(Number(new URL(url).port), sources);
  // While a thousand connections are made, and its code is compiled, a slow machine stands still for a moment.
  while (answeredOf(flooded) < PER_SECOND) await new Promise((resolve) => setTimeout(resolve, 20));
  const [before, began] = [flooded.sent, performance.now()];
  const beside = await genuineLoad(load);
  const rate = Math.round((1000 * (flooded.sent - before)) / (performance.now() - began));
  const core = flooded.end().toFixed(2);
  const told = `forged: ${rate} a second, at most ${flooded.late} late for want of an answer, ${JSON.stringify(flooded.statuses)}, this process ${core} of a core`;
  process.stdout.write(`${told}\n`);
  return { quiet, beside, rate, isOffered: rate >= LEAST_PER_SECOND || flooded.late > 0 };
}

const p99 = ({ latencies }: Seen) => Number(quantile(latencies, 0.99));

test.each([1, 100, 10_000])(
  `genuine notifications take at most ${MOST_TIMES} times as long as in quiet, at the slowest hundredth, beside ${PER_SECOND} forged ones a second over ${CONNECTIONS} connections from %i sources`,
  async (sources) => {
    const service = await stage().start({ TRUST_PROXY: '1' });
    await genuineLoad({ url: service.url, requests: 2000, clients: GENUINE_CLIENTS });
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      let measured = await roundOf(service.url, sources);
      if (!measured.isOffered) measured = await roundOf(service.url, sources); // the machine was busy
      if (!measured.isOffered) {
        process.stdout.write(`SKIPPED: this machine offers ${measured.rate} a second, of ${PER_SECOND}\n`);
        return;
      }
      rounds.push(measured);
    }
    const quiet = together(rounds.map((round) => round.quiet));
    const beside = together(rounds.map((round) => round.beside));
    const times = p99(beside) / p99(quiet);
    process.stdout.write(
      `${line('quiet', quiet)}\n${line(`beside ${sources} sources`, beside)}\n${times.toFixed(1)} times as long\n`,
    );
    expect(beside.statuses).toEqual({ 200: ROUNDS * GENUINE });
    expect(times).toBeLessThan(MOST_TIMES);
  },
  300_000,
);
