import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, reasonOf } from '../../../src/store/postgres/database.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { describeWith } from '../../support/tools.ts';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

await describeWithPostgres('TLS to PostgreSQL', (shared) =>
  describeWith('openssl', 'with a certificate for localhost', () => {
    let folder: string;
    let server: PostgresServer;
    const file = (name: string) => join(folder, name);
    const openssl = (...args: readonly string[]) =>
      execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
    const authority = (name: string) =>
      openssl(
        'req',
        '-x509',
        ...KEY,
        '-subj',
        `/CN=${name}`,
        '-keyout',
        `${name}.key`,
        '-out',
        `${name}.pem`,
      );

    beforeAll(async () => {
      folder = await temporaryDirectory();
      authority('right');
      authority('wrong');
      openssl('req', ...KEY, '-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr');
      await writeFile(file('names'), 'subjectAltName=DNS:localhost');
      const signed = ['-CA', 'right.pem', '-CAkey', 'right.key', '-CAcreateserial', '-extfile', 'names'];
      openssl('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.crt');
      const files = Object.fromEntries(
        ['server.crt', 'server.key'].map((name) => [name, readFileSync(file(name), 'utf8')]),
      );
      server = await startPostgres({ settings: { ssl: 'on' }, files });
      await writeFile(file('none.pem'), 'no certificate');
    });
    afterAll(async () => {
      await server?.remove();
      await rm(folder, { recursive: true, force: true });
    });

    /** Whether a connection is encrypted, or why there is none. */
    async function encrypted(query: string, host: string): Promise<boolean | string> {
      const url = server.url('postgres').replace('127.0.0.1', host);
      const roots = query.replace(/sslrootcert=(\w+)/, (_, name) => `sslrootcert=${file(`${name}.pem`)}`);
      return connect(`${url}${roots}`);
    }

    async function connect(url: string): Promise<boolean | string> {
      let database: Database | undefined;
      try {
        database = new Database({ url, connections: 1, name: 'tls' });
        const [row] = await database.statements.rows<{ ssl: boolean }>(
          'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
        );
        return row?.ssl ?? 'no answer';
      } catch (error) {
        const reason = reasonOf(error);
        for (const part of [new URL(url).password, new URL(url).host, url])
          expect(reason).not.toContain(part);
        return reason;
      } finally {
        await database?.close();
      }
    }

    test.each([
      ['', '127.0.0.1', false],
      ['?sslmode=disable', 'localhost', false],
      ['?sslmode=require', '127.0.0.1', true],
      ['?sslmode=require&sslrootcert=right', '127.0.0.1', true],
      ['?sslmode=verify-ca&sslrootcert=right', '127.0.0.1', true],
      ['?sslmode=verify-full&sslrootcert=right', 'localhost', true],
    ])('is as sslmode says, when the URL has %j for %s', async (query, host, expected) => {
      expect(await encrypted(query, host)).toBe(expected);
    });

    const AUTHORITY = "name its authority's certificate";
    test.each([
      ['?sslmode=require&sslrootcert=wrong', 'localhost', AUTHORITY],
      ['?sslmode=verify-ca&sslrootcert=wrong', 'localhost', AUTHORITY],
      ['?sslmode=verify-full&sslrootcert=wrong', 'localhost', AUTHORITY],
      ['?sslmode=verify-full', 'localhost', AUTHORITY],
      ['?sslmode=verify-full&sslrootcert=right', '127.0.0.1', 'for another name than the host'],
      ['?sslmode=verify-ca', 'localhost', 'no sslrootcert: name'],
      ['?sslmode=verify-full&sslrootcert=none', 'localhost', AUTHORITY],
      ['?sslmode=prefer', 'localhost', 'take one of these'],
      ['?sslmode=allow', 'localhost', 'take one of these'],
      ['?sslmode=verify_full', 'localhost', 'take one of these'],
    ])('is refused, when the URL has %j for %s, with what to do', async (query, host, advice) => {
      expect(await encrypted(query, host)).toContain(advice);
    });

    test('is refused, when it is required and the server has none, with what to do', async () => {
      expect(await connect(`${shared.url('postgres')}?sslmode=require`)).toContain('set ssl = on there');
    });
  }),
);
