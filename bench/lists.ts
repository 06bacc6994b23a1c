import { withDatabase } from './database.ts';
import { fill } from './fill.ts';
import { atMost, number, type Part, table } from './page.ts';
import { median } from './rounds.ts';
import { withService } from './service.ts';

const STORED = 1_000_000;
const TIMES = 15;
const DAY_MS = 86_400_000;
const MEDIA = 200_000;

/** How long pages and lists of the inspector take with very many events stored. */
export async function lists(): Promise<Part> {
  const rows = await withDatabase('SQLite', async (url) => {
    await fill(url, { events: STORED, media: MEDIA, isPending: false });
    return withService(url, ({ adminUrl }) => measure(adminUrl));
  });
  const slowest = Math.max(...rows.map(({ ms }) => ms));
  return {
    goals: [atMost(`a page or list with ${number(STORED)} events, ms`, 100, slowest)],
    text: `## Pages and lists\n\n${table(
      ['', 'ms', 'slowest'],
      rows.map(({ path, ms, most }) => [`\`${path}\``, number(ms, 1), number(most, 1)]),
    )}\n\n- ${number(STORED)} events on SQLite; medians of ${TIMES} requests each, to the end of the answer. The goal is for the median of the slowest row.`,
  };
}

async function measure(adminUrl: string) {
  const get = async (path: string) => {
    const answer = await fetch(`${adminUrl}${path}`);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${text}`);
    return text;
  };
  const page = JSON.parse(await get('/api/events?limit=1')) as { events: { id: string }[] };
  const id = page.events[0]?.id;
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString();
  const paths = [
    '/',
    '/problems',
    '/events',
    '/channels',
    '/metrics',
    '/api/stats',
    '/api/events?limit=100',
    '/api/events?status=dead',
    '/api/events?status=pending',
    '/api/events?status=handled&kind=media_updated',
    `/api/events?resource=media:${1_000_000 + MEDIA / 2}`,
    '/api/events?site=site7',
    '/api/events?site=nowhere',
    `/api/events?since=${day(16)}&until=${day(15)}`,
    '/api/events?q=no-event-has-this',
    `/api/events/${id}`,
  ];
  const rows: { path: string; ms: number; most: number }[] = [];
  for (const path of paths) {
    await get(path); // its code is loaded at its first request
    const times: number[] = [];
    for (let time = 0; time < TIMES; time++) {
      const began = performance.now();
      await get(path);
      times.push(performance.now() - began);
    }
    rows.push({ path, ms: median(times), most: Math.max(...times) });
  }
  return rows;
}
