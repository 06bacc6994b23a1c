import { beforeAll, expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { connected } from '../support/postgres-databases.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { describeWithPostgres, startPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { pause, Receivers } from './receivers.ts';

const OUTAGES = size({ small: 3, full: 10 });

describeWithPostgres('three receivers on one PostgreSQL', (shared) => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ durable: true });
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
    for (const id of ids) for (const { outcome } of await store.queue.attempts({ id })) outcomes.add(outcome);
    await store.close();
    expect(outcomes).toContain('lost');
    // What its handlers came to afterwards it did try to store.
    const tried = 'the lease was lost while the handler ran; another process has the event';
    expect(still.output()).toContain(tried);
  });
});
