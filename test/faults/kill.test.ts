import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
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
/** How many new events are acknowledged before each kill, on average, at least. */
const ACKS = 10;
/** Media of which each has many events, so that these wait for each other. */
const MEDIA = 40;

const random = new Random(20_261_121);
let sent = 0;

/** Sends until the service is gone, some of it again; keeps the ids of what it acknowledged. */
async function sendUntilGone(url: string, acknowledged: Set<string>): Promise<void> {
  for (;;) {
    const number = sent > 0 && random.chance(0.1) ? random.int(sent) : sent++;
    try {
      const response = await deliver(url, bodyOf(number, number % MEDIA));
      const { id } = (await response.json()) as { id: string };
      if (response.status === 200) acknowledged.add(id);
    } catch {
      return; // killed
    }
  }
}

/** What handlers did, by the diary that they wrote. */
function read(diary: string) {
  const done = new Set<string>();
  /** steps that ran although their result was stored */
  const again: string[] = [];
  const running = new Set<string>();
  /** runs that began while another one of their media went on */
  const atOnce: string[] = [];
  /** runs that a kill ended */
  let cutOff = 0;
  for (const line of readFileSync(diary, 'utf8').trimEnd().split('\n')) {
    const [what, ...step] = line.split(' ');
    const [media = ''] = step;
    if (what === 'starts') {
      if (running.has(media)) atOnce.push(line);
      running.add(media);
    } else if (what === 'ends') running.delete(media);
    else if (what === 'killed') {
      cutOff += running.size;
      running.clear();
    } else if (what === 'done') done.add(step.join(' '));
    else if (done.has(step.join(' '))) again.push(line);
  }
  return { done, again, atOnce, cutOff };
}

test(`a service that is killed ${ROUNDS} times under load keeps and handles what it acknowledged, never two of one media at once, and repeats no step that was complete`, async () => {
  const directory = await temporaryDirectory();
  const url = `sqlite:${join(directory, 'receiver.db')}`;
  const diary = join(directory, 'diary');
  const env = {
    ...{ DATABASE_URL: url, WEBHOOK_SECRET: SECRET, LEASE_MS: '300' },
    ...{ RETRY_BASE_MS: '10', RETRY_MAX_ATTEMPTS: '1000' },
    ...{ HANDLERS: join(import.meta.dirname, 'handlers/steps.ts'), DIARY: diary },
  };
  const acknowledged = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const service = await startProcess(env);
    const clients = Array.from({ length: 16 }, () => sendUntilGone(service.url, acknowledged));
    await new Promise((resolve) => setTimeout(resolve, 30 + random.int(500)));
    // On a busy machine so few would be acknowledged by then that the kills showed little.
    await eventually('some are acknowledged', () => acknowledged.size > ACKS * (round + 1));
    await service.kill();
    await Promise.all(clients);
    appendFileSync(diary, 'killed\n');
  }

  const last = await startProcess(env);
  const store = await openStore({ url, clock: systemClock });
  const total = await store.count({});
  while ((await store.count({ status: 'handled' })) < total)
    await new Promise((resolve) => setTimeout(resolve, 100));
  await last.stop();
  const ids = await idsIn(store);
  await store.close();
  const { done, again, atOnce, cutOff } = read(diary);
  process.stdout.write(
    `killed ${ROUNDS} times: ${sent} sent, ${acknowledged.size} acknowledged, ${ids.size} handled\n`,
  );
  expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
  const steps = [...ids].flatMap((id) => [`${id} publish`, `${id} announce`]);
  expect(steps.filter((step) => !done.has(step))).toEqual([]);
  expect(again).toEqual([]);
  expect(atOnce).toEqual([]);
  expect(cutOff).toBeGreaterThan(ROUNDS / 10);
  rmSync(directory, { recursive: true });
});
