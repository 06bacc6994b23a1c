import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { claims, HANDLED } from '../support/claiming.ts';
import { databaseForEachTest, ENGINE } from '../support/engine.ts';
import { size } from '../support/sizes.ts';

/** How many kills fall between ledger and work; others come too late or too early for that. On PostgreSQL there is one size. */
const KILLS = ENGINE === 'postgres' ? 10 : size({ small: 1, full: 30 });
const MOST_ROUNDS = 20 * KILLS;
const CHILD = fileURLToPath(new URL('../support/recording-process.ts', import.meta.url));

const database = databaseForEachTest();

/** Records in a process that is killed once it has acknowledged so many. @returns the ids that it acknowledged */
async function recordAndKill(round: number, acks: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, `round-${round}`], {
    env: { ...process.env, ...database().env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged: string[] = [];
  for await (const id of createInterface({ input: child.stdout })) {
    acknowledged.push(id);
    if (acknowledged.length === acks) child.kill('SIGKILL');
  }
  return acknowledged;
}

/** Whether events are in the ledger and not in work yet. */
const hasUntaken = () =>
  database().valueOf({
    sqlite: "SELECT max(seq) > (SELECT seq FROM cursors WHERE name = 'taken') FROM ledger",
    postgres:
      'SELECT count(*) > 0 FROM hookkit.ledger LEFT JOIN hookkit.work USING (event) WHERE work IS NULL',
  });

test(`every acknowledged event is handled once, when its process is killed ${KILLS} times before all of it was taken into work`, async () => {
  const acknowledged = new Set<string>();
  let inBetween = 0;
  let round = 0;
  for (; inBetween < KILLS && round < MOST_ROUNDS; round++) {
    for (const id of await recordAndKill(round, 1 + ((round * 37) % 60))) acknowledged.add(id);
    if (await hasUntaken()) inBetween++;
  }
  expect(inBetween).toBe(KILLS);
  const store = await database().open();
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
  process.stdout.write(
    `killed ${round} times, ${inBetween} of them between ledger and work; ${handled.length} events handled\n`,
  );
});
