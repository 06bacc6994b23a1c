import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const ROUNDS = size({ small: 4, full: 100 });
/** How many new events are acknowledged before each kill, on average, at least. */
const ACKS = 10;
/** Media of which each has many events, so that these wait for each other. */
const MEDIA = 40;
const CLIENTS = 8;
/** How long a client waits after each notification, so that handlers keep up. */
const PAUSE_MS = 20;
/** Longer than a process stands still on a busy machine: the other one would rightly take over what it runs. */
const LEASE_MS = '3000';

const database = databaseForEachTest();

/** What handlers did, by the diary that they wrote. */
function read(diary: string) {
  const done = new Set<string>();
  /** steps that ran although their result was stored */
  const again: string[] = [];
  /** the processes in which media are at work */
  const running = new Map<string, string>();
  /** runs that began while another one of their media went on */
  const atOnce: string[] = [];
  /** media whose run a kill ended */
  const cutOff: string[] = [];
  for (const line of readFileSync(diary, 'utf8').trimEnd().split('\n')) {
    const [what, one = '', other = ''] = line.split(' ');
    const step = `${one} ${other}`;
    if (what === 'starts') {
      if (running.has(one)) atOnce.push(line);
      running.set(one, other);
    } else if (what === 'ends') running.delete(one);
    else if (what === 'killed') {
      const ended = [...running].filter(([, process]) => process === one).map(([media]) => media);
      for (const media of ended) running.delete(media);
      cutOff.push(...ended);
    } else if (what === 'done') done.add(step);
    else if (done.has(step)) again.push(line);
  }
  return { done, again, atOnce, cutOff };
}

test(`two servers on one database keep and handle what they acknowledged, never two of one media at once, repeat no complete step and count each event once, when they are killed ${ROUNDS} times under load`, async () => {
  const diary = join(database().directory, 'diary');
  const start = () =>
    startProcess({
      ...{ ...database().env, WEBHOOK_SECRET: SECRET, LEASE_MS, RETRY_MAX_ATTEMPTS: '1000' },
      ...{ HANDLERS: join(import.meta.dirname, 'handlers/steps.ts'), DIARY: diary },
    });
  const servers: [ServiceProcess, ServiceProcess] = [await start(), await start()];
  const random = new Random(20_261_121);
  const acknowledged = new Set<string>();
  let [sent, isOver] = [0, false];
  /** Sends to one server after the other, some of it again. */
  const client = async (_: unknown, first: number): Promise<void> => {
    for (let turn = first; !isOver; turn++) {
      const number = sent > 0 && random.chance(0.1) ? random.int(sent) : sent++;
      const { url } = servers[turn % 2 === 0 ? 0 : 1];
      try {
        const response = await deliver(url, bodyOf(number, number % MEDIA));
        const { id } = (await response.json()) as { id: string };
        if (response.status === 200) acknowledged.add(id);
      } catch {
        // It was killed.
      }
      await sleep(PAUSE_MS);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  for (let round = 0; round < ROUNDS; round++) {
    await eventually('some are acknowledged', () => acknowledged.size > ACKS * (round + 1));
    const at = round % 2 === 0 ? 0 : 1;
    const { child, kill } = servers[at];
    const hold = `${diary}-${child.pid}`;
    writeFileSync(hold, '');
    await eventually('a run is under way, and waits for the kill', () => !existsSync(hold));
    await kill();
    appendFileSync(diary, `killed ${child.pid}\n`);
    servers[at] = await start();
  }
  isOver = true;
  await Promise.all(clients);

  const store = await database().open();
  const isHandled = async () =>
    (await store.queue.count({ status: 'handled' })) === (await store.queue.count({}));
  await eventually('all is handled', isHandled);
  for (const server of servers) await server.stop();
  // One by one: a list in the order of receipt ends before what PostgreSQL has not ended yet for a process that was killed.
  for (const id of acknowledged)
    expect([id, (await store.queue.event({ id }))?.status]).toEqual([id, 'handled']);
  const values = await store.queue.states({ of: 'media' });
  expect(values.reduce((sum, { value }) => sum + Number(value), 0)).toBe(await store.queue.count({}));
  const { done, again, atOnce, cutOff } = read(diary);
  const steps = [...acknowledged].flatMap((id) => [`${id} publish`, `${id} announce`]);
  expect(steps.filter((step) => !done.has(step))).toEqual([]);
  expect([again, atOnce]).toEqual([[], []]);
  expect(cutOff.length).toBeGreaterThanOrEqual(ROUNDS);
}, 180_000);
