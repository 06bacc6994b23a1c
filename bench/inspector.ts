import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { pino } from 'pino';
import { systemClock } from '../src/base/clock.ts';
import { atLeastOne } from '../src/cli/option-values.ts';
import { parseConfig } from '../src/config.ts';
import { createInspector } from '../src/inspector/index.ts';
import { openStore } from '../src/store/open.ts';
import { toVerified } from '../src/store/verified.ts';
import { fill, MEDIA, mediaId } from './fill.ts';
import { busyness, machine } from './machine.ts';
import { quantile } from './measure.ts';

// How long every page and list takes with millions of events, and what that does to acks. Writes bench/INSPECTOR.md.

const [EVENTS, kept] = new Command('npm run bench:inspector --')
  .description('Measure the inspector with many events beside acks, and write bench/INSPECTOR.md.')
  .argument('[events]', 'how many events', atLeastOne, 5_000_000)
  .argument('[database]', 'where to keep the database for the next run')
  .parse().processedArgs as [number, string | undefined];
const ROUNDS = 21;
const ACK_SECONDS = 8;

const directory = kept ? undefined : mkdtempSync(join(tmpdir(), 'hookkit-inspector-'));
const path = kept ?? join(directory ?? '', 'receiver.db');
if (!existsSync(path)) fill(path, EVENTS, Date.now());
const bytes = statSync(path).size;
const load = busyness();

const url = `sqlite:${path}`;
const store = await openStore({ url, clock: systemClock });
const config = parseConfig({ ADMIN_PORT: '0', DATABASE_URL: url });
const log = pino({ level: 'silent' });
const admin = await createInspector(systemClock).start({ store, config, clock: systemClock, log, wake() {} });

const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString();
const one = (round: number) => `media:${mediaId((round * 7919) % MEDIA)}`;
const ids = (await store.search({}, { limit: 500, reach: 500 })).events.map(({ id }) => id);
const pastHalf = (await store.search({ until: Date.now() - 180 * 86_400_000 }, { limit: 1, reach: 10 }))
  .events[0]?.id;

const requests: Readonly<Record<string, (round: number) => string>> = {
  Overview: () => '/',
  Events: () => '/events',
  'Events, from the middle on': () => `/events?before=${pastHalf}`,
  'Events, dead': () => '/events?status=dead',
  'Events, handled': () => '/events?status=handled',
  'Events, skipped': () => '/events?status=skipped',
  'Events of a common kind': () => '/events?kind=media_available',
  'Events of a rare kind': () => '/events?kind=made_up',
  'Events, dead, of a rare kind': () => '/events?kind=made_up&status=dead',
  'Events of a site': (round) => `/events?site=site${round % 50}`,
  'Events of a site that is not there': () => '/events?site=nowhere',
  'Events of a media': (round) => `/events?resource=${one(round)}`,
  'Events of a day half a year ago': (round) => `/events?since=${day(180 + round)}&until=${day(179 + round)}`,
  'Events of that day, dead': (round) =>
    `/events?since=${day(180 + round)}&until=${day(179 + round)}&status=dead`,
  'Search for a text that no event has': () => '/events?q=nothing-has-this',
  'Search for a media by its id': (round) => `/events?q=${one(round).slice(6)}`,
  Event: (round) => `/events/${ids[round * 20]}`,
  'Replay, count of dead': () => '/events/replay?status=dead',
  'Replay, count of a site': () => '/events/replay?site=site1',
  'Replay, count of all': () => '/events/replay',
  Channels: () => '/channels',
  'Channels, active': () => '/channels?state=active',
  Rejections: () => '/rejections',
  Quarantine: () => '/quarantine',
  Webhooks: () => '/webhooks',
  '/api/events?limit=500': () => '/api/events?limit=500',
  '/api/events/:id': (round) => `/api/events/${ids[round * 20 + 1]}`,
  '/api/channels': () => '/api/channels',
  '/api/stats': () => '/api/stats',
  '/metrics': () => '/metrics',
};

async function timed(request: string): Promise<number> {
  const began = performance.now();
  const answer = await fetch(`${admin.url}${request}`);
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`${request}: ${answer.status}`);
  return performance.now() - began;
}

const rows: string[] = [];
for (const [name, request] of Object.entries(requests)) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) times.push(await timed(request(round)));
  rows.push(`| ${name} | ${quantile(times, 0.5).toFixed(1)} | ${Math.max(...times).toFixed(1)} |`);
}

let recorded = 0;
/** Records for some seconds, 32 at a time, as acks do; tells how many a second and how long each waited. */
async function acks(): Promise<{ perSecond: number; p50: number; p99: number }> {
  const times: number[] = [];
  const end = performance.now() + ACK_SECONDS * 1000;
  const sender = async (): Promise<void> => {
    while (performance.now() < end) {
      const at = new Date(Date.now() + recorded++).toISOString();
      const body = {
        event: 'media_available',
        media_id: `new${recorded}`,
        webhook_id: 'hook0001',
        site_id: 'site1',
        event_time: at,
      };
      const began = performance.now();
      await store.record(toVerified(body, JSON.stringify(body)));
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: 32 }, sender));
  return { perSecond: times.length / ACK_SECONDS, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/** Acks while a reader asks for one page after the other, with a pause between them. */
async function acksBeside(
  pauseMs: number,
): Promise<{ acks: Awaited<ReturnType<typeof acks>>; asked: number }> {
  let asked = 0;
  let over = false;
  const all = Object.values(requests);
  const reader = async (): Promise<void> => {
    for (; !over; asked++) {
      await timed((all[asked % all.length] ?? (() => '/'))(asked % ROUNDS));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const reading = reader();
  const result = await acks();
  over = true;
  await reading;
  return { acks: result, asked };
}

const alone = await acks();
const calmly = await acksBeside(1000);
const hard = await acksBeside(0);
await admin.stop();
await store.close();
if (directory) rmSync(directory, { recursive: true });

const ackRow = (name: string, { perSecond, p50, p99 }: typeof alone) =>
  `| ${name} | ${Math.round(perSecond)} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`;
const result = `# The inspector with ${(EVENTS / 1e6).toFixed(1)} million events

${machine()}, load average ${load} when it began. ${Math.round(bytes / EVENTS)} bytes an event, with its attempt and all indexes. \`npm run bench:inspector\`

Milliseconds from the HTTP request to the end of the answer, ${ROUNDS} times each.

| page or list | median | slowest |
|---|---|---|
${rows.join('\n')}

The benchmark records events, 32 at a time, committed to disk: while nobody looks, while it asks for the above pages in turn once
a second, as an open page does, and while it asks for them as fast as they come (${hard.asked} requests in ${ACK_SECONDS} s). Reader, service and
load share the machine's cores. Queries run on their own thread and connection, so that they cost acks only their share of the
processor.

| | a second | p50 ms | p99 ms |
|---|---|---|---|
${ackRow('nobody looks', alone)}
${ackRow('a page a second', calmly.acks)}
${ackRow('pages as fast as they come', hard.acks)}
`;
writeFileSync(new URL('./INSPECTOR.md', import.meta.url), result);
process.stdout.write(result);
