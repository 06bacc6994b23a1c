import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { Settlement } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { migrate } from '../../../src/store/postgres/migrations.ts';
import { tablesOf } from '../../../src/store/postgres/tables/index.ts';
import { claim } from '../../../src/store/semantics/claiming.ts';
import { record } from '../../../src/store/semantics/recording.ts';
import { settle } from '../../../src/store/semantics/settling.ts';
import { HANDLED, request, waiting } from '../../support/claiming.ts';
import { explained } from '../../support/explained.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

const FEW = 8;
const MANY = 128;
/** A statement looks through the locks of the whole server, of which other tests have some. */
const LOCKS = 1000;

const STATE = [
  { name: 'set', value: '1' },
  { name: 'deleted', value: null },
];

await describeWithPostgres('a batch of events in PostgreSQL', (server) => {
  let name: string;
  let database: Database;
  const clock = new VirtualClock();
  let count = 0;
  beforeAll(async () => {
    name = await createDatabase(server);
    database = new Database({ url: server.url(name), connections: 1, name: 'test' });
    await migrate(database, clock);
  });
  afterAll(async () => {
    await database.close();
    await dropDatabase(server, name);
  });

  /** Which step of all statements goes through most rows, when so many events, each of another media, are recorded and handled. */
  const most = (events: number, settlement: Settlement) =>
    database.transaction(
      async (session) => {
        let most = { rows: 0, step: '' };
        const tables = tablesOf(
          explained(session, (rows, step) => {
            if (rows > most.rows) most = { rows, step };
          }),
        );
        const now = clock.now();
        const media = Array.from({ length: events }, (_, n) =>
          verified({ media_id: `media-${n}`, number: count++ }),
        );
        await record(
          tables,
          media.map((one) => ({ ...one, receivedAt: now })),
        );
        const { claims } = await claim(tables, { ...request({ limit: events }), now });
        expect(claims).toHaveLength(events);
        const settlings = claims.map((one) => ({ claim: one, owner: 'one', settlement, now }));
        expect(await settle(tables, settlings)).not.toContain(false);
        return most;
      },
      { isFrequent: true },
    );

  test.each([
    ['handled', HANDLED],
    ['handled, with changes of state', { ...HANDLED, state: STATE }],
    ['to be handled again', waiting(1000)],
  ])(
    'has each statement go through as many rows as it has events, where they end as %s',
    async (_, settlement) => {
      for (const events of [FEW, MANY, MANY]) {
        const { rows, step } = await most(events, settlement);
        expect(rows).toBeGreaterThanOrEqual(events);
        expect({ step, rows: Math.min(rows, 4 * events + LOCKS) }).toEqual({ step, rows });
      }
    },
  );
});
