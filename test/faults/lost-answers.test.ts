import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { type LostAnswers, startLosingAnswers } from '../support/lost-answers.ts';
import { startPostgres } from '../support/own-postgres.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { Receivers } from './receivers.ts';

const CLIENTS = 8;
const MEDIA = 40;
const LOST_EACH = 10;

/** What a commit is of, by a statement that is in no other; and of how many one is answered by a connection that breaks. */
const COMMITS = [
  { of: 'acks', statement: 'INSERT INTO events', oneIn: 40 },
  { of: 'claims', statement: 'UPDATE lanes SET lease = $', oneIn: 8 },
  { of: 'results', statement: 'INSERT INTO attempts', oneIn: 20 },
];

describeWithPostgres('two receivers whose connections break after commits, before they hear of them,', () => {
  let server: PostgresServer;
  let losing: LostAnswers;
  beforeAll(async () => {
    server = await startPostgres({ durable: true });
    losing = await startLosingAnswers(server);
  });
  afterAll(async () => {
    await losing?.close();
    await server?.remove();
  });

  test(`record each event once and handle it, when ${LOST_EACH} acks, claims and results each are lost`, async () => {
    const random = new Random(20_261_124);
    const receivers = await Receivers.on(server, { urlOf: losing.url });
    for (const at of [0, 1]) await receivers.start(at);
    const lost = new Map(COMMITS.map(({ of }) => [of, 0]));
    losing.isLost = (sql) => {
      const commits = COMMITS.filter(({ statement }) => sql.includes(statement));
      if (!commits.some(({ oneIn }) => random.int(oneIn) === 0)) return false;
      for (const { of } of commits) lost.set(of, (lost.get(of) ?? 0) + 1);
      return true;
    };
    receivers.send(CLIENTS, MEDIA, 2);
    while (![...lost.values()].every((count) => count >= LOST_EACH))
      await new Promise((resolve) => setTimeout(resolve, 100));
    losing.isLost = () => false;
    await receivers.stopSending();
    const { ids, handled, counted } = await receivers.finish();
    process.stdout.write(
      `lost ${JSON.stringify(Object.fromEntries(lost))}: answers ${JSON.stringify(Object.fromEntries(receivers.answers))}, ${ids.size} recorded, ${handled} handled\n`,
    );
    expect([...receivers.answers.keys()].sort()).toEqual([200, 503]);
    expect([...receivers.acknowledged].filter((id) => !ids.has(id))).toEqual([]);
    expect(handled).toBe(ids.size);
    // The state of a media is written with the result of an event, and so once.
    expect(counted).toBe(handled);
    expect(await receivers.overlaps()).toEqual([]);
  });
});
