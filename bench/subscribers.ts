import { withReader } from '../src/store/open.ts';
import { withDatabase } from './database.ts';
import { number, table } from './page.ts';
import { interleaved } from './rounds.ts';
import { type Service, untilHandled, withService } from './service.ts';
import type { Sizes } from './sizes.ts';
import { load } from './wrk.ts';

const NAMES = ['SQLite 0', 'SQLite 1', 'SQLite 3', 'PostgreSQL 0', 'PostgreSQL 1', 'PostgreSQL 3'] as const;
type Name = (typeof NAMES)[number];

/** Acks a second beside subscribers whose handlers do nothing, and how far these are behind then. */
export async function subscribers({ load: seconds }: Sizes): Promise<string> {
  const results = await interleaved(NAMES, { rounds: 1, seconds }, (name) => measure(name, seconds));
  const rows = NAMES.map((name) => {
    const { perSecond, p99, behind, left, ms } = results[name];
    const none = results[name.startsWith('SQLite') ? 'SQLite 0' : 'PostgreSQL 0'];
    const share = number(perSecond / none.perSecond, 2);
    return [name, number(perSecond), share, number(p99, 1), number(behind), number(left), number(ms)];
  });
  const head = ['subscribers', '32: acks/s', 'of none', 'p99 ms', 'behind', 'left', 'all handled after ms'];
  return `${table(head, rows)}

- One round of ${seconds} s over 32 connections, after as long a warm-up. \`behind\`: the notifications of which, when the load had ended, the
  slowest subscriber had no event yet. \`left\`: the events, its own and all others, that were not handled yet.`;
}

function measure(name: Name, seconds: number) {
  const [engine, count] = name.split(' ');
  const on = async (url: string, { port }: Service) => {
    await load({ port, connections: 32, seconds, series: 'warm-up' });
    await untilHandled(async () => (await unhandled(url)).all);
    const loaded = await load({ port, connections: 32, seconds, series: '32' });
    const began = performance.now();
    const { behind, left } = await unhandled(url);
    await untilHandled(async () => (await unhandled(url)).all);
    return { ...loaded, behind, left, ms: performance.now() - began };
  };
  return withDatabase(engine === 'SQLite' ? engine : 'PostgreSQL', (url) =>
    withService(url, (service) => on(url, service), Number(count)),
  );
}

function unhandled(url: string) {
  return withReader({ DATABASE_URL: url }, async ({ queue, reports }) => {
    const { pending, running } = await reports.overview();
    const behind = Math.max(0, ...(await queue.subscribers()).map((one) => one.behind));
    return { behind, left: pending + running, all: behind + pending + running };
  });
}
