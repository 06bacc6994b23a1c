import { beforeAll, expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { size } from '../support/sizes.ts';
import { describeWith } from '../support/tools.ts';
import { pause, Receivers } from './receivers.ts';

/** Fewer than a store has, so that stores get each other's. */
const CONNECTIONS = 2;
const KILLS = size({ small: 3, full: 9 });

describeWithPostgres('PgBouncer before PostgreSQL', (server) =>
  describeWith('pgbouncer', 'in transaction mode', () => {
    let bouncer: Awaited<ReturnType<typeof startPgBouncer>>;
    beforeAll(async () => {
      bouncer = await startPgBouncer(server, CONNECTIONS);
    });

    test(`has three receivers lose nothing and never run two events of one media at once, when they share its connections and one is killed, ${KILLS} times`, async () => {
      const random = new Random(20_261_127);
      const receivers = await Receivers.on(server, { urlOf: (database) => bouncer.url(database) });
      for (const at of [0, 1, 2]) await receivers.start(at);
      receivers.send();
      for (let round = 0; round < KILLS; round++) {
        await pause(500 + random.int(600));
        await receivers.kill(round % 3);
        await receivers.start(round % 3);
      }
      await receivers.finishWhole();
      expect(receivers.acknowledged.size).toBeGreaterThan(10 * KILLS);
    });
  }),
);
