import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { systemClock } from '../../src/base/clock.ts';
import { openWriter } from '../../src/store/sqlite/open-sqlite.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { eventually } from '../support/eventually.ts';
import { firstVersion } from '../support/first-version.ts';
import { notification, SECRET, WEBHOOK } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { runCli } from '../support/run-cli.ts';
import { runs } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const KEY = Buffer.alloc(32, 7);
const FUTURE = Date.UTC(2100, 0, 1);
const inspect = inspectedForEachTest();

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});

afterEach(() => rmSync(directory, { recursive: true }));

async function withStore<T>(use: (store: SqliteStore) => Promise<T>): Promise<T> {
  const store = await SqliteStore.open({ path, clock: systemClock, threads: false });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Does to the database what somebody can who may write to it and has no key. */
function tamper<T>(change: (db: Database.Database) => T, file = path): T {
  const db = new Database(file);
  try {
    return change(db);
  } finally {
    db.close();
  }
}

const look = () =>
  withStore(async (store) => ({
    live: (await store.secrets()).map(({ webhookId, secret }) => `${webhookId} ${secret}`).toSorted(),
    unreadable: await store.unreadableSecrets(),
  }));

const fill = () =>
  withStore(async (store) => {
    await store.addSecret('one', 'retired secret');
    await store.retireSecret('one', 'retired secret', systemClock.now());
    await store.addSecret('one', 'live secret');
    await store.addSecret('two', 'secret of two');
  });

const LIVE = 'retire_at IS NULL';
const RETIRED = 'retire_at IS NOT NULL';

describe('a stored secret', () => {
  test('verifies nothing, when a retired value was moved into the live row of its webhook, and its webhook is named', async () => {
    await fill();
    tamper((db) =>
      db.exec(`UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE webhook_id = 'one' AND ${RETIRED})
               WHERE webhook_id = 'one' AND ${LIVE}`),
    );
    expect(await look()).toEqual({ live: ['two secret of two'], unreadable: ['one'] });
  });

  test.each([
    ['taken away', 'NULL'],
    ['put off', String(FUTURE)],
    ['made earlier', '1'],
    ['made a text', "'never'"],
  ])('verifies nothing, when its retirement was %s, and its webhook is named', async (_how, retireAt) => {
    await fill();
    tamper((db) =>
      db.exec(`UPDATE secrets SET retire_at = ${retireAt} WHERE webhook_id = 'one' AND ${RETIRED}`),
    );
    const live = ['one live secret', 'two secret of two'];
    expect(await look()).toEqual({ live, unreadable: ['one'] });
  });

  test('verifies nothing, when any part of its row was changed, in any way, and every other one does', async () => {
    await fill();
    const bytes = fc.uint8Array({ maxLength: 80 }).map((value) => Buffer.from(value));
    const value = fc.oneof(fc.constant(null), fc.integer(), fc.double(), fc.string(), bytes);
    const column = fc.constantFrom('webhook_id', 'fingerprint', 'sealed', 'retire_at');
    const property = fc.asyncProperty(column, value, async (name, changed) => {
      tamper((db) => db.exec('CREATE TABLE kept AS SELECT * FROM secrets'));
      const isChanged = tamper((db) => {
        try {
          const row = db.prepare("SELECT rowid FROM secrets WHERE webhook_id = 'two'").pluck().get();
          const was = db.prepare(`SELECT ${name} FROM secrets WHERE rowid = ?`).pluck().get(row);
          db.prepare(`UPDATE secrets SET ${name} = ? WHERE rowid = ?`).run(changed, row);
          return (
            db.prepare(`SELECT ${name} IS NOT ? FROM secrets WHERE rowid = ?`).pluck().get(was, row) === 1
          );
        } catch {
          return false; // the schema does not take it
        }
      });
      const { live, unreadable } = await look();
      tamper((db) => db.exec('DELETE FROM secrets; INSERT INTO secrets SELECT * FROM kept; DROP TABLE kept'));
      expect(live).toEqual(isChanged ? ['one live secret'] : ['one live secret', 'two secret of two']);
      expect(unreadable).toHaveLength(isChanged ? 1 : 0);
    });
    await fc.assert(property, { numRuns: runs(60) });
  });

  test('works again, when it is stored again', async () => {
    await fill();
    tamper((db) => db.exec(`UPDATE secrets SET sealed = x'00' WHERE webhook_id = 'two'`));
    await withStore((store) => store.addSecret('two', 'secret of two'));
    expect(await look()).toEqual({ live: ['one live secret', 'two secret of two'], unreadable: [] });
  });
});

describe('one secret that does not open', () => {
  test('is absent alone, while the service runs on it, with a line, a metric and a FAIL of the doctor that names its webhook', async () => {
    const DATABASE_URL = `sqlite:${path}`;
    await withStore((store) => store.addSecret('broken', 'another-secret'));
    tamper((db) => db.exec(`UPDATE secrets SET sealed = zeroblob(60)`));
    const { deliver, log, url } = await inspect({}, { DATABASE_URL });
    const statusOf = async (webhook_id: string, secret: string) =>
      (await deliver(notification({ webhook_id }), secret)).status;
    expect(await statusOf(WEBHOOK, SECRET)).toBe(200);
    expect(await statusOf('broken', 'another-secret')).toBe(401);
    expect(await statusOf('unknown', 'whatever')).toBe(401);
    const said = () =>
      log.withMessage('a stored secret does not open and counts as absent: its row was changed');
    await eventually('it is said', () => said().length > 0);
    expect(said()).toMatchObject([{ level: 50, webhooks: ['broken'], count: 1 }]);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^webhook_secrets_unreadable 1$/m);
    const doctor = await runCli(['doctor', '--offline'], { env: { DATABASE_URL } });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^FAIL +secrets +a secret of broken does not open/m);
  });

  test.each([
    ['other bytes', "sealed = x'00'"],
    ['a text in place of bytes', "sealed = 'not a blob'"],
    ['a number in place of bytes', 'sealed = 7'],
    ['a fingerprint that is a text', "fingerprint = 'a text'"],
    ['a fingerprint of other bytes', "fingerprint = x'00'"],
    ['a webhook that is bytes', 'webhook_id = CAST(webhook_id AS BLOB)'],
  ])(
    'keeps rekey from doing anything, when its row has %s, until it is told to drop it, and import --replace removes it as well',
    async (_what, change) => {
      const env = { DATABASE_URL: `sqlite:${path}` };
      await fill();
      const spoil = () => tamper((db) => db.exec(`UPDATE secrets SET ${change} WHERE webhook_id = 'two'`));
      spoil();
      const refused = await runCli(['secrets', 'rekey'], { env });
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(/^hookkit: a secret of two does not open.*--drop-unreadable/);
      expect(await look()).toEqual({ live: ['one live secret'], unreadable: ['two'] });
      const done = await runCli(['secrets', 'rekey', '--drop-unreadable', '--json'], { env });
      expect(done).toEqual({ code: 0, stdout: '{"sealed":2,"scrubbed":true}\n', stderr: '' });
      expect(await look()).toEqual({ live: ['one live secret'], unreadable: [] });
      await withStore((store) => store.addSecret('two', 'secret of two'));
      spoil();
      await runCli(['webhooks', 'import', '--id', 'two', '--replace'], { env, stdin: 'new-secret' });
      expect(await look()).toEqual({ live: ['one live secret', 'two new-secret'], unreadable: [] });
    },
  );
});

describe('a database that the first version sealed', () => {
  const secrets = [
    { webhookId: 'one', secret: 'live secret' },
    { webhookId: 'one', secret: 'retired secret', retireAt: 5 },
    { webhookId: 'two', secret: 'retires later', retireAt: FUTURE },
  ];
  const all = ['one live secret', 'two retires later'];
  const make = () => firstVersion(path, KEY, secrets).db.close();
  const sealed = () =>
    tamper((db) => db.prepare<[], Buffer>('SELECT sealed FROM secrets ORDER BY retire_at').pluck().all());

  test('is sealed for its rows, when it is opened, and all of it is as it was', async () => {
    make();
    expect(sealed().map((bytes) => bytes[0])).toEqual([1, 1, 1]);
    expect(await look()).toEqual({ live: all, unreadable: [] });
    const now = sealed();
    expect(now.map((bytes) => bytes[0])).toEqual([2, 2, 2]);
    expect(await look()).toEqual({ live: all, unreadable: [] });
    expect(sealed()).toEqual(now);
  });

  test('opens nothing that the first version sealed, once it is sealed for its rows', async () => {
    make();
    const former = tamper((db) => db.prepare('SELECT * FROM secrets').all());
    await look();
    tamper((db) => {
      const put = db.prepare(
        'INSERT OR REPLACE INTO secrets VALUES (:webhook_id, :fingerprint, :sealed, :created_at, NULL)',
      );
      for (const row of former) put.run(row);
    });
    expect(await look()).toEqual({ live: [], unreadable: ['one', 'two'] });
  });

  test('has a value in the wrong row absent, when it was moved there before, and the others are there', async () => {
    make();
    tamper((db) =>
      db.exec(`UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE retire_at = 5)
               WHERE webhook_id = 'one' AND retire_at IS NULL`),
    );
    expect(await look()).toEqual({ live: ['two retires later'], unreadable: ['one'] });
  });

  test('is sealed once, when several processes open it at the same moment', async () => {
    make();
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => SqliteStore.open({ path, clock: systemClock })),
    );
    for (const store of stores) {
      expect((await store.secrets()).map(({ secret }) => secret).toSorted()).toEqual([
        'live secret',
        'retires later',
      ]);
      await store.close();
    }
  });

  test('is as before, when the change fails in its midst, and is changed when it is opened again', async () => {
    make();
    openWriter(path).close(); // moves it, and does not know the key
    tamper((db) =>
      db.exec(`CREATE TRIGGER stop BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'the power went'); END`),
    );
    await expect(look()).rejects.toThrow('the power went');
    expect(sealed().map((bytes) => bytes[0])).toEqual([1, 1, 1]);
    tamper((db) => db.exec('DROP TRIGGER stop'));
    expect(await look()).toEqual({ live: all, unreadable: [] });
  });

  test('is refused with the same message as ever, when the key is another one, and not changed', async () => {
    make();
    const open = SqliteStore.open({ path, clock: systemClock, secretsKey: Buffer.alloc(32, 8) });
    await expect(open).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringContaining('give the SECRETS_KEY (or key file) that sealed them'),
    });
    expect(sealed().map((bytes) => bytes[0])).toEqual([1, 1, 1]);
  });
});
