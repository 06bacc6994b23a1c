import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { claims, HANDLED } from '../support/claiming.ts';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** How many kills fall between ledger and work; others come too late or too early for that. */
const KILLS = size({ small: 1, full: 30 });
const MOST_ROUNDS = 20 * KILLS;
const CHILD = fileURLToPath(new URL('../support/recording-process.ts', import.meta.url));

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Records in a process that is killed once it has acknowledged so many. @returns the ids that it acknowledged */
async function recordAndKill(round: number, acks: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, path, `round-${round}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: string[] = [];
  for await (const id of createInterface({ input: child.stdout })) {
    acknowledged.push(id);
    if (acknowledged.length === acks) child.kill('SIGKILL');
  }
  return acknowledged;
}

/** How many events are in the ledger and not in work yet. */
function untaken(): number {
  const db = new Database(path, { readonly: true });
  const count = db
    .prepare<[], number>(
      "SELECT count(*) FROM ledger WHERE seq > (SELECT seq FROM cursors WHERE name = 'taken')",
    )
    .pluck()
    .get();
  db.close();
  return count ?? 0;
}

test(`every acknowledged event is handled once, when its process is killed ${KILLS} times before all of it was taken into work`, async () => {
  const acknowledged = new Set<string>();
  let inBetween = 0;
  let round = 0;
  for (; inBetween < KILLS && round < MOST_ROUNDS; round++) {
    for (const id of await recordAndKill(round, 1 + ((round * 37) % 60))) acknowledged.add(id);
    if (untaken() > 0) inBetween++;
  }
  expect(inBetween).toBe(KILLS);
  const store = await SqliteStore.open({ path, clock: systemClock, threads: false });
  const handled: string[] = [];
  for (
    let some = await claims(store, { limit: 50 });
    some.length > 0;
    some = await claims(store, { limit: 50 })
  ) {
    const resources = some.map(({ resource }) => resource);
    expect(new Set(resources).size).toBe(resources.length);
    handled.push(...some.map(({ id }) => id));
    await Promise.all(some.map((claim) => store.settle(claim, 'one', HANDLED)));
  }
  expect(new Set(handled).size).toBe(handled.length);
  expect([...acknowledged].filter((id) => !handled.includes(id))).toEqual([]);
  expect((await store.overview()).tallies).toEqual([
    { kind: 'media_available', status: 'handled', events: handled.length },
  ]);
  await store.close();
  process.stdout.write(
    `killed ${round} times, ${inBetween} of them between ledger and work; ${handled.length} events handled\n`,
  );
});
