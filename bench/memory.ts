import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { withDatabase } from './database.ts';
import { notification } from './notification.ts';
import { atMost, number, type Part, table } from './page.ts';
import { median, say } from './rounds.ts';
import { type Service, withService } from './service.ts';
import type { Sizes } from './sizes.ts';

const PER_SECOND = 800;
const CONNECTIONS = 8;
const TICK_MS = 10;

/** How long a start takes, and how much memory the service holds: at rest, and as notifications come at an even pace. */
export async function memory({ starts, rest, steady }: Sizes): Promise<Part> {
  const { readyMs, atRest, seen } = await withDatabase('SQLite', async (url) => {
    await withService(url, async () => {}); // makes the schema, and Node's compiled code
    const ready: number[] = [];
    for (let start = 0; start < starts; start++)
      ready.push(await withService(url, async (service) => service.readyMs));
    return withService(url, async (service) => {
      await sleep(rest * 1000);
      const atRest = service.rss();
      return { readyMs: median(ready), atRest, seen: await evenPace(service, steady) };
    });
  });
  const time = steady < 60 ? `${steady} s` : `${steady / 60} minutes`;
  const rows = seen.map(({ second, mb }) => [number(second), number(mb)]);
  return {
    goals: [
      atMost('ready after start, ms', 300, readyMs),
      atMost('RSS at rest, MB', 120, atRest),
      atMost(`RSS after ${time} at ${PER_SECOND}/s, MB`, 220, seen.at(-1)?.mb ?? Number.NaN),
    ],
    text: `## Memory\n\n${table(['s', 'MB'], rows)}\n\n- ${PER_SECOND} notifications a second over ${CONNECTIONS} connections, SQLite; somebody looks at a page of the inspector each time the memory
  is read. MB (10^6 bytes) are VmRSS of \`hookkit serve\`. At rest: ${rest} s after a start. Ready: the median of ${starts} starts of the process until
  \`/readyz\` answers 200.`,
  };
}

/** Sends notifications for so long. @returns what the service held at four moments */
async function evenPace(service: Service, seconds: number) {
  const seen: { readonly second: number; readonly mb: number }[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const began = performance.now();
  let sent = 0;
  for (let quarter = 1; quarter <= 4; quarter++) {
    const second = (quarter * seconds) / 4;
    for (let at = 0; at < second; ) {
      at = (performance.now() - began) / 1000;
      const batch: Promise<void>[] = [];
      while (sent < at * PER_SECOND) batch.push(send(sent++, agent, service.port));
      await Promise.all([sleep(TICK_MS), ...batch]);
    }
    await (await fetch(service.adminUrl)).arrayBuffer();
    seen.push({ second, mb: service.rss() });
    say(`${second} s: ${number(service.rss())} MB`);
  }
  agent.destroy();
  return seen;
}

async function send(n: number, agent: Agent, port: number): Promise<void> {
  const { body, token } = notification('memory', n);
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    authorization: `Bearer ${token}`,
  };
  const sent = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/webhooks/media', headers });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  answer.resume();
  if (answer.statusCode !== 200) throw new Error(`answered with ${answer.statusCode}`);
}
