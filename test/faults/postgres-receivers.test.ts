import { beforeAll, expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { startPostgres } from '../support/own-postgres.ts';
import { connected } from '../support/postgres-databases.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { LEASE_MS, pause, Receivers } from './receivers.ts';

const ROUNDS = size({ small: 9, full: 30 });
const OUTAGES = size({ small: 3, full: 10 });
/** So many, one after the other, while the others go on. */
const SINGLE_KILLS = size({ small: 2, full: 5 });
/**
 * So many leases may pass before an event runs again, where receivers are killed all the time and the machine is busy: its own; up to one
 * as what was lost twice runs one after the other; and one if the receiver that takes it over was kept from the store for a while. A
 * receiver that is killed meanwhile may have claimed it, and then they pass again.
 */
const MOST_LEASES = 3;

describeWithPostgres('three receivers on one PostgreSQL', (shared) => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ durable: true });
  });

  test(`lose nothing and never run two events of one media at once, when one is killed every moment, ${ROUNDS} times`, async () => {
    const random = new Random(20_261_122);
    const receivers = await Receivers.on(server);
    for (const at of [0, 1, 2]) await receivers.start(at);
    receivers.send();
    for (let round = 0; round < ROUNDS; round++) {
      await pause(200 + random.int(600));
      await receivers.kill(round % 3);
      await pause(random.int(400));
      await receivers.start(round % 3);
    }
    await receivers.finishWhole();
    expect(receivers.acknowledged.size).toBeGreaterThan(10 * ROUNDS);
    const takeovers = await receivers.takeovers();
    const isLate = ({ ms, killedMeanwhile }: (typeof takeovers)[number]) =>
      ms > MOST_LEASES * LEASE_MS * (1 + killedMeanwhile);
    expect(takeovers.length).toBeGreaterThan(0);
    expect(takeovers.filter(isLate)).toEqual([]);
    // A step whose result was stored never ran again: what ran twice was killed before the first result was known.
    const again = await receivers.diary(
      `SELECT event FROM published GROUP BY event
       HAVING count(*) > (SELECT count(*) FROM runs WHERE runs.event = published.event AND ended IS NULL) + 1`,
    );
    expect(again).toEqual([]);
  });

  test(`run what one of them held again once its leases have run out, when that one is killed and the others go on, ${SINGLE_KILLS} times`, async () => {
    const random = new Random(20_261_124);
    const receivers = await Receivers.on(server, { env: { WORK_MS: '100' } });
    for (const at of [0, 1, 2]) await receivers.start(at);
    receivers.send();
    for (let round = 0; round < SINGLE_KILLS; round++) {
      await pause(1000 + random.int(1000));
      await receivers.kill(round % 3);
      await pause(1.5 * LEASE_MS);
      await receivers.start(round % 3);
    }
    await receivers.finishWhole();
    // A lease, until another one looks, and until the handler begins.
    expect((await receivers.takeovers()).at(-1)?.ms).toBeLessThan(1.5 * LEASE_MS);
  });

  test(`answer 503 and recover by themselves, when PostgreSQL is stopped at once and started, ${OUTAGES} times, and connections are cut`, async () => {
    const random = new Random(20_261_123);
    const receivers = await Receivers.on(server, { diaryServer: shared });
    for (const at of [0, 1]) await receivers.start(at);
    receivers.send();
    for (let outage = 0; outage < OUTAGES; outage++) {
      await pause(300 + random.int(500));
      await connected(server.adminUrl(), (admin) =>
        admin.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname LIKE 'receivers_%' AND random() < 0.5`,
        ),
      );
      await pause(100 + random.int(300));
      await server.stop('immediate');
      await pause(random.int(1500));
      await server.restart();
    }
    await pause(1000);
    await receivers.finishWhole();
    expect([...receivers.answers.keys()].sort()).toEqual([200, 503]);
  });

  test('change nothing late, when one stands still for longer than its leases and goes on', async () => {
    const receivers = await Receivers.on(server, { env: { WORK_MS: '300', LEASE_MS: '1000' } });
    const [still] = [await receivers.start(0), await receivers.start(1)];
    receivers.send();
    await pause(1500);
    still.child.kill('SIGSTOP');
    receivers.processes[0] = undefined; // nobody sends to it
    await pause(8000); // within a transaction the server waits for it for five seconds
    still.child.kill('SIGCONT');
    receivers.processes[0] = still;
    await pause(1500);
    const { ids, lost } = await receivers.finish();
    expect(lost).toEqual([]);
    const store = await receivers.store();
    const outcomes = new Set<string>();
    for (const id of ids) for (const { outcome } of await store.attempts(id)) outcomes.add(outcome);
    await store.close();
    expect(outcomes).toContain('lost');
    // What its handlers came to afterwards it did try to store.
    const tried = 'the lease was lost while the handler ran; another process has the event';
    expect(still.output()).toContain(tried);
  });
});
