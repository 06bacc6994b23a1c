import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EventFilter } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { queriesOf } from '../../../src/store/postgres/queries/index.ts';
import { fromText, toText } from '../../../src/store/postgres/session.ts';
import { tablesOf } from '../../../src/store/postgres/tables/index.ts';
import { record, take } from '../../../src/store/semantics/recording.ts';
import { only } from '../../support/only.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { runs } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

// PostgreSQL takes no NUL in a text.

await describeWithPostgres('a text in PostgreSQL', (server) => {
  let name: string;
  let database: Database;

  beforeAll(async () => {
    name = await createDatabase(server);
    database = new Database({ url: server.url(name), connections: 2, name: 'texts' });
  });

  afterAll(async () => {
    await database.close();
    await dropDatabase(server, name);
  });

  const character = fc.oneof(
    fc.constantFrom('\0', '\u0001', '\u0002', '\u0003', '\\', "'", '"', '{', '}', ',', '\u{10ffff}'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  );
  const texts = fc.string({ unit: character, maxLength: 8 });

  test('comes back as it was and in the order of its bytes, when it has any characters', async () => {
    const property = fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 40 }), async (given) => {
      const rows = await database.statements.rows<{ text: string }>(
        'SELECT text FROM unnest($1::text[]) AS text ORDER BY text COLLATE "C"',
        [given.map(toText)],
      );
      const byBytes = given.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      expect(rows.map(({ text }) => fromText(text))).toEqual(byBytes);
    });
    await fc.assert(property, { numRuns: runs(300) });
  });

  test('is found by itself, when events, state, steps, secrets and the quarantine have it in every place', async () => {
    const property = fc.asyncProperty(texts, fc.integer({ min: 0, max: 5000 }), async (given, more) => {
      const text = `${given}${'x'.repeat(more)}`;
      const short = `media:${given}`;
      const { statements } = database;
      const tables = tablesOf(statements);
      const queries = queriesOf(statements);
      const labels = { kind: text, webhookId: given, siteId: given, resource: short };
      const entry = { ...verified({ text }), ...labels, receivedAt: 1 };
      const { id } = only(await record(tables, [entry]));
      await database.transaction((session) => take(tablesOf(session)));
      const filters: EventFilter[] = [
        ...[{ kind: text }, { site: given }, { webhook: given }, { resource: short }],
        ...[{ kind: [text, 'other'] }, { q: JSON.stringify(text) }],
      ];
      for (const filter of filters) {
        const { events } = await queries.search({ filter, stretch: { reach: 1000, limit: 1000 } });
        expect(events.find((event) => event.id === id)).toMatchObject({ ...labels, body: entry.body });
      }
      const [event = 0] = await tables.placesOf([id]);
      await tables.addStep({ event, name: given, result: text });
      expect(await tables.steps([{ event, name: given }])).toEqual([{ result: text }]);
      expect(await queries.steps(id)).toEqual([{ name: given, result: text }]);
      await tables.changeState([{ resource: short, changes: [{ name: given, value: text }] }]);
      expect(await queries.state(short)).toContainEqual({ name: given, value: text });
      const key = Buffer.from(`${given} ${more}`);
      const waiting = { ...entry, token: text, source: given, network: '', bytes: 1, tokenDigest: key };
      await tables.addEntry(waiting);
      const { tokenDigest: _, network: __, ...kept } = waiting;
      const inQuarantine = [];
      for await (const one of tables.quarantined(0, given)) inQuarantine.push(one);
      expect(inQuarantine).toContainEqual({
        ...{ ...kept, digest: Buffer.from(kept.digest) },
        ...{ place: expect.any(Number), deliveries: 1 },
      });
      expect(await tables.takeOut(key)).toMatchObject({ webhookId: given, body: entry.body });
    });
    await fc.assert(property, { numRuns: runs(60) });
  });
});
