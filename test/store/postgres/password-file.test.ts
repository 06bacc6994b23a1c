import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Database } from '../../../src/store/postgres/database.ts';
import { reasonOf } from '../../../src/store/postgres/reasons.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

await describeWithPostgres('the password of a PostgreSQL server', (server) => {
  let name: string;
  let folder: string;
  let file: string;
  /** without its password */
  let url: URL;
  let password: string;
  const { PGPASSFILE, PGPASSWORD } = process.env;
  beforeEach(async () => {
    name = await createDatabase(server);
    folder = await temporaryDirectory();
    file = join(folder, 'passwords');
    url = new URL(server.url(name));
    password = decodeURIComponent(url.password);
    url.password = '';
    process.env.PGPASSFILE = file;
    delete process.env.PGPASSWORD;
  });
  afterEach(async () => {
    for (const [key, value] of Object.entries({ PGPASSFILE, PGPASSWORD })) {
      if (value === undefined) delete process.env[key];
      else process.env[key] = value;
    }
    rmSync(folder, { recursive: true });
    await dropDatabase(server, name);
  });

  /** Writes a password file, and asks the server something. */
  const ask = async (lines: readonly string[]) => {
    await writeFile(file, lines.join('\n'), { mode: 0o600 });
    const database = new Database({ url: url.href, connections: 1, name: 'test' });
    try {
      return (await database.statements.rows<{ one: number }>('SELECT 1 AS one'))[0]?.one;
    } catch (error) {
      return reasonOf(error);
    } finally {
      await database.close();
    }
  };
  const lineOf = (secret: string, host = url.hostname) =>
    [host, url.port || '5432', name, url.username, secret.replace(/[\\:]/g, '\\$&')].join(':');

  test('is read from the file of PGPASSFILE, when the URL has none, from the line that is meant', async () => {
    expect(await ask([lineOf('another', 'elsewhere.invalid'), lineOf(password)])).toBe(1);
  });

  test('is refused with what to do and without a word of it, when the file has a wrong one', async () => {
    const reason = await ask([lineOf('wrong')]);
    expect(reason).toMatch(/PGPASSWORD or the password file/);
    expect(reason).not.toContain('wrong');
  });

  test('is asked for, when no line of the file is meant', async () => {
    expect(await ask([lineOf(password, 'elsewhere.invalid')])).toMatch(/none is given: set PGPASSWORD/);
    // The connection is closed, or the server would keep the database for a minute.
    await dropDatabase(server, name);
    name = await createDatabase(server);
  });
});
