import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { Random } from '../../src/mock/random.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { serve } from '../support/served.ts';
import { startProcess } from '../support/service-process.ts';
import { size } from '../support/sizes.ts';

const ROUNDS = size({ small: 2, full: 20 });
const CLIENTS = 16;
const SEED = 20_261_120;

const directory = mkdtempSync(join(tmpdir(), 'hookkit-kill-'));
const path = join(directory, 'receiver.db');
const env = { DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET, LEASE_MS: '300', LOG_LEVEL: 'info' };

afterAll(() => rmSync(directory, { recursive: true, force: true }));

let sent = 0;

/** Sends until the service is gone; returns what it acknowledged. */
async function sendUntilGone(url: string, acknowledged: Set<string>): Promise<void> {
  for (;;) {
    try {
      const response = await deliver(url, bodyOf(sent++));
      const { id } = (await response.json()) as { id: string };
      if (response.status === 200) acknowledged.add(id);
    } catch {
      return; // killed
    }
  }
}

function statuses(): Map<string, number> {
  const db = new Database(path, { readonly: true });
  const rows = db
    .prepare<[], { status: string; count: number }>(
      'SELECT status, count(*) AS count FROM events GROUP BY status',
    )
    .all();
  db.close();
  return new Map(rows.map(({ status, count }) => [status, count]));
}

function recordedIds(): Set<string> {
  const db = new Database(path, { readonly: true });
  const rows = db
    .prepare<[], { event_time: number; digest: Buffer }>('SELECT event_time, digest FROM events')
    .all();
  db.close();
  return new Set(
    rows.map((row) => `${row.event_time.toString(36)}-${row.digest.subarray(0, 10).toString('hex')}`),
  );
}

test(`keeps and handles what it acknowledged, when it is killed ${ROUNDS} times under load, without exception`, async () => {
  const random = new Random(SEED);
  const acknowledged = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const service = await startProcess(env);
    const clients = Array.from({ length: CLIENTS }, () => sendUntilGone(service.url, acknowledged));
    const before = acknowledged.size;
    await new Promise((resolve) => setTimeout(resolve, 30 + random.int(400)));
    // On a busy machine that is not long enough for the first.
    await eventually('some are acknowledged', () => acknowledged.size > before + 1);
    service.child.kill('SIGKILL');
    await Promise.all([...clients, service.exited]);
  }
  const recorded = recordedIds();
  expect(acknowledged.size).toBeGreaterThan(ROUNDS);
  expect([...acknowledged].filter((id) => !recorded.has(id))).toEqual([]);

  const service = await serve({ env });
  await eventually('all is handled', () => [...statuses().keys()].every((status) => status === 'handled'));
  await service.stop();
  expect(statuses()).toEqual(new Map([['handled', recorded.size]]));
  process.stdout.write(
    `killed ${ROUNDS} times: ${sent} sent, ${acknowledged.size} acknowledged, ${recorded.size} recorded and handled\n`,
  );
}, 120_000);
