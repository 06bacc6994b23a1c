import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openSide, openStore } from '../../../src/store/open.ts';
import type { Side } from '../../../src/store/transfer/side.ts';
import { reopen } from '../../../src/store/transfer/transfer.ts';
import { claims } from '../../support/claiming.ts';
import { eventually } from '../../support/eventually.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { size } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { FAILED, failing, move, preceded } from '../../support/transferring.ts';
import { verified } from '../../support/verified-notification.ts';

const open = (url: string) => openStore({ url, clock: systemClock, secretsKey: SECRETS_KEY, threads: false });

/** Records an event of a media, as a receiver does. */
async function record(url: string, media: string): Promise<void> {
  const store = await open(url);
  await store.record(verified({ media_id: media }));
  await store.close();
}

/** The resources of all events. */
async function resources(url: string): Promise<readonly string[]> {
  const store = await open(url);
  const events = await store.eventsAfter({}, undefined, 100);
  await store.close();
  return events.map(({ resource }) => resource);
}

/** A move that fails before its last step in which nothing is marked. */
function unfinished(from: string, to: string): Promise<void> {
  const around = (side: Side) => failing(side, (step) => step === 'complete');
  return expect(move(from, to, { around })).rejects.toThrow(FAILED);
}

/** @param empty gives the URL of an empty database */
function describeRefusals(engine: string, empty: () => Promise<string>): void {
  describe(`a move within ${engine}`, () => {
    let from: string;
    let to: string;
    beforeEach(async () => {
      [from, to] = [await empty(), await empty()];
      await record(from, 'first');
    });

    test('changes nothing, when the other database has something, and both can be used afterwards', async () => {
      await record(to, 'other');
      await expect(move(from, to)).rejects.toThrow(/is not empty: name an empty database/);
      expect(await resources(from)).toEqual(['media:first']);
      expect(await resources(to)).toEqual(['media:other']);
    });

    test('is refused, when another program uses one of the databases, or both are the same', async () => {
      for (const url of [from, to]) {
        const program = await open(url);
        await expect(move(from, to, { waitMs: 0 })).rejects.toThrow(/other programs use .*: end them/);
        await program.close();
      }
      await expect(move(from, from)).rejects.toThrow(/the two databases are the same one/);
      await move(from, to);
    });

    test('keeps programs and other moves from the new database, when it is not finished, until it is', async () => {
      await unfinished(from, to);
      await expect(open(to)).rejects.toThrow(
        /an unfinished move from .* run the same npx hookkit move again/,
      );
      const other = await empty();
      await expect(move(other, to)).rejects.toThrow(
        /is a side of another move \(it is being filled from .*\): name an empty database/,
      );
      await expect(move(to, other)).rejects.toThrow(
        /holds an unfinished move from .*: finish that move first/,
      );
      await record(from, 'second'); // the receiver goes on there
      await move(from, to);
      expect(await resources(to)).toEqual(['media:first', 'media:second']);
    });

    test('keeps programs from the database that was moved, when it is finished, until somebody reopens that', async () => {
      await move(from, to);
      const refused = expect(open(from)).rejects;
      await refused.toThrow(/everything in this database was moved to .*: set DATABASE_URL to that/);
      await expect(open(from)).rejects.not.toThrow(/password|hookkit:/);
      await expect(move(from, await empty())).rejects.toThrow(
        /was moved to .* run npx hookkit move --from URL --reopen/,
      );
      const side = await openSide(from);
      expect([await reopen(side), await reopen(side)]).toEqual([true, false]);
      await side.close();
      await record(from, 'second');
      expect(await resources(from)).toHaveLength(2);
    });

    test('changes nothing, when there is no key: other databases can be moved there, and programs use both', async () => {
      await expect(move(from, to, { secretsKey: undefined })).rejects.toThrow(
        /there is no key for the secrets of/,
      );
      expect(await resources(from)).toEqual(['media:first']);
      expect(await resources(to)).toEqual([]);
    });

    test('fails, when the new database keeps a row otherwise than it was written', async () => {
      const around = (side: Side, url: string): Side =>
        url === from
          ? side
          : new Proxy(side, {
              get(_, name) {
                if (name === 'change') return async () => {}; // writes nothing
                const member: unknown = Reflect.get(side, name);
                return typeof member === 'function' ? member.bind(side) : member;
              },
            });
      await expect(move(from, to, { around })).rejects.toThrow(
        /rows of ledger are not in .* as they were written/,
      );
      expect(await resources(from)).toEqual(['media:first']);
    });
  });
}

describe('SQLite', () => {
  let directory: string;
  let number = 0;
  beforeEach(async () => {
    directory = await temporaryDirectory();
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const empty = async () => `sqlite:${join(directory, `${++number}.db`)}`;
  describeRefusals('SQLite', empty);

  test.each([
    [1, /everything in .* was moved to .*: to move it once more/],
    [2, /another move of .* began meanwhile, to .*: that one goes on/],
  ])(
    'one of two moves of a database ends, when the other one comes before its lock number %d',
    async (lock, refused) => {
      const [from, to, other] = [await empty(), await empty(), await empty()];
      await record(from, 'first');
      let locks = 0;
      const around = (side: Side, url: string): Side =>
        url === to
          ? side
          : preceded(side, async (step) => {
              if (step !== 'alone' || ++locks !== lock) return;
              await side.close(); // as it does itself before it locks the file
              await move(from, other);
            });
      await expect(move(from, to, { around })).rejects.toThrow(refused);
      expect(await resources(other)).toEqual(['media:first']);
      await expect(open(from)).rejects.toThrow(/everything in this database was moved to/);
      await expect(move(from, to)).rejects.toThrow(/was moved to/);
    },
  );
});

await describeWithPostgres('PostgreSQL', (server) => {
  const databases: string[] = [];
  afterEach(async () => {
    for (const name of databases.splice(0)) await dropDatabase(server, name);
  });

  const empty = async () => {
    const name = await createDatabase(server);
    databases.push(name);
    return server.url(name);
  };

  /** Lets programs use a database again, as `hookkit move --reopen` does. */
  const reopened = async (url: string) => {
    const side = await openSide(url);
    await reopen(side);
    await side.close();
  };

  // What is refused is the same for all engines, and how it is noticed is not.
  if (size({ small: false, full: true })) describeRefusals('PostgreSQL', empty);

  test('a move is refused, when another program uses the database', async () => {
    const [from, to] = [await empty(), await empty()];
    const program = await open(from);
    await expect(move(from, to, { waitMs: 0 })).rejects.toThrow(/other programs use .*: end them/);
    await program.close();
  });

  test('a program that comes back is refused with the reason, when everything was moved while it was cut off, or a move fills its database', async () => {
    const [from, to] = [await empty(), await empty()];
    await record(from, 'first');
    const [program, other] = [await open(from), await open(to)];
    const late = (store: EventStore) => store.record(verified({ media_id: 'late' }));
    // The move does not see them, as if they had no connection.
    const unseen = (side: Side): Side =>
      new Proxy(side, {
        get(_, name) {
          if (name === 'alone')
            return async (_waitMs: number, work: () => Promise<unknown>) => ({ done: await work() });
          const member: unknown = Reflect.get(side, name);
          return typeof member === 'function' ? member.bind(side) : member;
        },
      });
    const unfinished = (side: Side) => failing(unseen(side), (step) => step === 'complete');
    await expect(move(from, to, { around: unfinished })).rejects.toThrow(FAILED);
    await expect(late(other)).rejects.toThrow(/an unfinished move from .* fills this database/);
    await move(from, to, { around: unseen });
    const moved = /everything in this database was moved to .*: set DATABASE_URL to that/;
    await expect(late(program)).rejects.toThrow(moved);
    await expect(claims(program)).rejects.toThrow(moved);
    await expect(program.ping()).rejects.toThrow(moved);
    await expect(program.addSecret('webhook-1', 'late')).rejects.toThrow(moved);
    expect(await program.count({})).toBe(1);
    expect(await late(other)).toMatchObject({ status: 'accepted' });
    await reopened(from);
    expect(await late(program)).toMatchObject({ status: 'accepted' });
    for (const store of [program, other]) await store.close();
  });

  test('a move ends, and its database is reopened, when somebody reads both all the time, and the next program leaves no trigger', async () => {
    const [from, to] = [await empty(), await empty()];
    await record(from, 'first');
    const admins = [from, to].map((url) => new pg.Client(server.adminUrl(new URL(url).pathname.slice(1))));
    try {
      for (const admin of admins) {
        await admin.connect();
        await admin.query('BEGIN');
        await admin.query('SELECT count(*) FROM hookkit.ledger');
      }
      await move(from, to);
      await reopened(from);
      for (const url of [from, to]) await record(url, 'while they read');
    } finally {
      for (const admin of admins) await admin.query('COMMIT');
    }
    for (const url of [from, to]) await record(url, 'later');
    for (const admin of admins) {
      const { rows } = await admin.query("SELECT FROM pg_trigger WHERE tgname = 'refuse_writes'");
      expect(rows).toEqual([]);
      await admin.end();
    }
    expect(await resources(to)).toEqual(['media:first', 'media:while they read', 'media:later']);
  });

  test('a database takes writes again, when another program has removed its mark, once a program starts', async () => {
    const [from, to] = [await empty(), await empty()];
    await record(from, 'first');
    await move(from, to);
    await connected(server.adminUrl(new URL(from).pathname.slice(1)), (admin) =>
      admin.query("DELETE FROM hookkit.meta WHERE name LIKE 'move%'"),
    );
    await record(from, 'second');
    expect(await resources(from)).toHaveLength(2);
  });

  test('a role that may make nothing in the schema moves everything out of it', async () => {
    const [from, to] = [await empty(), await empty()];
    await record(from, 'first');
    const name = new URL(from).pathname.slice(1);
    await connected(server.adminUrl(name), async (admin) => {
      await admin.query(
        `ALTER SCHEMA hookkit OWNER TO CURRENT_USER; GRANT USAGE ON SCHEMA hookkit TO ${new URL(from).username}`,
      );
      await move(from, to);
    });
    expect(await resources(to)).toEqual(['media:first']);
    await expect(open(from)).rejects.toThrow(/everything in this database was moved/);
  });

  test('a program is refused and disturbs nothing, when it starts in the last round of a move', async () => {
    const [from, to] = [await empty(), await empty()];
    const admin = server.adminUrl(new URL(from).pathname.slice(1));
    await record(from, 'first');
    let started: Promise<unknown> | undefined;
    const around = (side: Side, url: string): Side =>
      url === to
        ? side
        : preceded(side, async (step) => {
            if (step !== 'numbers') return;
            started = open(from).catch((error) => error);
            await connected(admin, (client) =>
              eventually('the program waits', async () => {
                const { rowCount } = await client.query(
                  "SELECT 1 FROM pg_locks WHERE relation = 'hookkit.meta'::regclass AND NOT granted",
                );
                return rowCount === 1;
              }),
            );
          });
    await move(from, to, { around });
    expect(String(await started)).toMatch(/everything in this database was moved to/);
    expect(await resources(to)).toEqual(['media:first']);
  });
});
