import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Random } from '../../src/mock/random.ts';
import { openStore } from '../../src/store/open.ts';
import { idsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROUNDS = size({ small: 15, full: 100 });
const CLIENTS = 16;
/** How many new events are acknowledged before each kill, on average, at least. */
const ACKS = 10;
/** Of all rounds, on a busy machine. */
const LONGEST_MS = 3_600_000;
const SEED = 20_261_121;
/** Media of which each has many events, so that these wait for each other. */
const MEDIA = 40;
/** How often something is sent that was sent before. */
const REPEATED = 0.1;

let directory: string;
let path: string;
let handlers: URL;

beforeAll(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  const diary = encodeURIComponent(join(directory, 'diary'));
  handlers = new URL(`./handlers/steps.ts?diary=${diary}`, import.meta.url);
});

afterAll(() => rmSync(directory, { recursive: true }));

const random = new Random(SEED);
let sent = 0;

/** Sends until the service is gone; keeps the ids of what it acknowledged. */
async function sendUntilGone(url: string, acknowledged: Set<string>): Promise<void> {
  for (;;) {
    const number = sent > 0 && random.chance(REPEATED) ? random.int(sent) : sent++;
    try {
      const response = await deliver(url, bodyOf(number, number % MEDIA));
      const { id } = (await response.json()) as { id: string };
      if (response.status === 200) acknowledged.add(id);
    } catch {
      return; // killed
    }
  }
}

interface Diary {
  /** runs of steps */
  readonly runs: number;
  /** steps that ran although their result was stored */
  readonly again: readonly string[];
  /** by event, how many of its steps are complete */
  readonly complete: ReadonlyMap<string, number>;
  /** runs that began while another one of their media went on */
  readonly atOnce: readonly string[];
  /** runs that a kill ended */
  readonly cutOff: number;
}

function readDiary(): Diary {
  const done = new Set<string>();
  const again: string[] = [];
  const running = new Map<string, string>();
  const atOnce: string[] = [];
  let cutOff = 0;
  let runs = 0;
  for (const line of readFileSync(join(directory, 'diary'), 'utf8').trimEnd().split('\n')) {
    const [what, ...step] = line.split(' ');
    const [media = ''] = step;
    if (what === 'starts') {
      const other = running.get(media);
      if (other !== undefined) atOnce.push(`${other}, ${line}`);
      running.set(media, line);
    } else if (what === 'ends') {
      running.delete(media);
    } else if (what === 'killed') {
      cutOff += running.size;
      running.clear();
    } else if (what === 'done') done.add(step.join(' '));
    else if (done.has(step.join(' '))) again.push(line);
    if (what === 'runs') runs++;
  }
  const complete = new Map<string, number>();
  for (const step of done) {
    const id = step.split(' ')[0] ?? '';
    complete.set(id, (complete.get(id) ?? 0) + 1);
  }
  return { runs, again, complete, atOnce, cutOff };
}

test(
  `a service that is killed ${ROUNDS} times under load keeps and handles what it acknowledged, never two of one media at once, and repeats no step that was complete`,
  async () => {
    const env = {
      DATABASE_URL: `sqlite:${path}`,
      WEBHOOK_SECRET: SECRET,
      LEASE_MS: '300',
      RETRY_BASE_MS: '10',
      RETRY_MAX_ATTEMPTS: '1000',
    };
    const acknowledged = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const service = await startProcess(env, handlers);
      const clients = Array.from({ length: CLIENTS }, () => sendUntilGone(service.url, acknowledged));
      await new Promise((resolve) => setTimeout(resolve, 30 + random.int(500)));
      // On a busy machine so few would be acknowledged by then that the kills showed little.
      await eventually('some are acknowledged', () => acknowledged.size > ACKS * (round + 1));
      service.child.kill('SIGKILL');
      await Promise.all([...clients, service.exited]);
      appendFileSync(join(directory, 'diary'), 'killed\n');
    }

    const last = await startProcess(env, handlers);
    const store = await openStore({ url: `sqlite:${path}`, clock: systemClock });
    const total = await store.count({});
    while ((await store.count({ status: 'handled' })) < total) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    last.child.kill('SIGTERM');
    expect(await last.exited).toBe(0);

    const ids = await idsIn(store);
    const handled = await store.count({ status: 'handled' });
    await store.close();
    const { runs, again, complete, atOnce, cutOff } = readDiary();
    process.stdout.write(
      `killed ${ROUNDS} times: ${sent} sent, ${acknowledged.size} acknowledged, ${ids.size} recorded, ${handled} handled, ` +
        `${2 * complete.size} steps complete, ${runs} runs of them (${runs - 2 * complete.size} cut off by a kill), ${cutOff} runs of handlers cut off\n`,
    );
    expect(acknowledged.size).toBeGreaterThan(ACKS * ROUNDS);
    expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
    expect([...ids].filter((id) => complete.get(id) !== 2)).toEqual([]);
    expect(handled).toBe(ids.size);
    expect(again).toEqual([]);
    expect(atOnce).toEqual([]);
    expect(cutOff).toBeGreaterThan(ROUNDS / 10);
  },
  LONGEST_MS,
);
