import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import type { Claim, EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { claims, HANDLED, settleAll, waiting } from '../support/claiming.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

const BACKLOG = size({ small: 15_000, full: 100_000 });
const LIVE = 30;
const EVERY_MS = 100;
/** The promise is about a second; the machine of a test may be busy. */
const LONGEST_WAIT_MS = 3000;

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Makes of the recorded events a backlog of another sort. */
const backlogs: Readonly<Record<string, (store: EventStore) => Promise<unknown>>> = {
  'events that came before': async () => {},
  'a bulk replay': async (store) => {
    await settleAll(store, HANDLED);
    await store.replay({ status: 'handled' });
  },
  // All are claimed before the first is due again, and all are due before the service runs.
  'a wave of retries': async (store) => {
    const all: Claim[] = [];
    for (let some: readonly Claim[]; all.length < BACKLOG; all.push(...some))
      some = await claims(store, { oldest: BACKLOG, leaseMs: 600_000 });
    await Promise.all(all.map((claim) => store.settle(claim, waiting(1))));
  },
};

test.each(Object.keys(backlogs))(
  `live events wait for about a second at most behind ${BACKLOG} of %s`,
  async (name) => {
    const store = await openStore({ url: `sqlite:${path}`, clock: systemClock });
    for (let from = 0; from < BACKLOG; from += 500) {
      const numbers = Array.from({ length: 500 }, (_, index) => from + index);
      await Promise.all(
        numbers.map((number) => store.record(verified({ media_id: `old-${number}`, at: number * 1000 + 1 }))),
      );
    }
    await backlogs[name]?.(store);
    const diary = join(directory, 'diary');
    const handlers = { HANDLERS: join(import.meta.dirname, 'handlers/starts.ts'), DIARY: diary };
    const service = await startProcess({
      ...{ DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET },
      ...handlers,
    });
    const sentAt = new Map<string, number>();
    let left = 0;
    for (let number = 0; number < LIVE; number++) {
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
      left = await store.count({ status: 'pending' });
      if (left < 1000) break;
      sentAt.set(`media${number}`, Date.now());
      expect((await deliver(service.url, bodyOf(number))).status).toBe(200);
    }
    while ((await store.count({ status: 'handled' })) < BACKLOG + sentAt.size)
      await new Promise((resolve) => setTimeout(resolve, 100));
    await store.close();
    await service.stop();

    const lines = readFileSync(diary, 'utf8').trimEnd().split('\n');
    const startedAt = new Map(lines.map((line) => line.split(' ') as [string, string]));
    const waits = [...sentAt].map(([media, at]) => Number(startedAt.get(media)) - at).sort((a, b) => a - b);
    process.stdout.write(
      `${name}: ${waits.length} live events, ${left} of ${BACKLOG} left at the last; they waited for ` +
        `${waits[Math.floor(waits.length / 2)]} ms (median), ${waits.at(-1)} ms at most\n`,
    );
    expect(waits.length).toBeGreaterThan(LIVE / 3); // otherwise the backlog was over too soon to show anything
    expect(waits.filter((wait) => !(wait < LONGEST_WAIT_MS))).toEqual([]);
  },
);
