import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database } from '../../../src/store/postgres/database.ts';
import { reasonOf } from '../../../src/store/postgres/reasons.ts';
import { connected } from '../../support/postgres-databases.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { describeWith } from '../../support/tools.ts';

const CERTIFIED = 'certified';
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
      openssl('req', ...KEY, '-subj', `/CN=${CERTIFIED}`, '-keyout', 'own.key', '-out', 'own.csr');
      openssl('x509', '-req', '-in', 'own.csr', ...signed.slice(0, 5), '-out', 'own.pem');
      openssl('pkey', '-in', 'own.key', '-aes256', '-passout', 'pass:sesame', '-out', 'locked.key');
      openssl('pkey', '-in', 'own.key', '-outform', 'DER', '-out', 'der.key');
      execFileSync('cp', ['own.key', 'open.key'], { cwd: folder });
      for (const name of ['own', 'locked', 'der', 'right']) await chmod(file(`${name}.key`), 0o600);
      await chmod(file('open.key'), 0o644);
      server = await startPostgres({
        settings: { ssl: 'on', ssl_ca_file: 'right.pem' },
        files: {
          ...files,
          'right.pem': readFileSync(file('right.pem'), 'utf8'),
          'pg_hba.conf': `hostssl all ${CERTIFIED} all cert\nhost all all all scram-sha-256\n`,
        },
      });
      await connected(server.adminUrl(), (admin) => admin.query(`CREATE ROLE ${CERTIFIED} LOGIN`));
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
        const { password, host } = new URL(url);
        for (const part of [password, host, url]) if (part) expect(reason).not.toContain(part);
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

    test("is refused, when the certificate is another's and NODE_TLS_REJECT_UNAUTHORIZED lets every one pass", async () => {
      const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      try {
        expect(await encrypted('?sslmode=verify-full&sslrootcert=wrong', 'localhost')).toContain(AUTHORITY);
      } finally {
        if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
      }
    });

    test.each([
      ['own', 'own', true],
      ['own', 'none', 'sslkey, and this file cannot be read (ENOENT)'],
      ['own', '', 'has one of sslcert and sslkey: name both'],
      ['', '', 'whether it wants a certificate'],
      ['right', 'own', 'has an sslkey that is not that of its sslcert'],
      ['own', 'locked', 'sslkey, and this file is not one in PEM without a passphrase'],
      ['own', 'der', 'sslkey, and this file is not one in PEM'],
      ['none', 'own', 'sslcert, and this file is not one in PEM'],
      ['own', 'open', 'which others can read: chmod 600'],
    ])(
      'with the certificate %j and the key %j is as it must be, or says what to do',
      async (cert, key, expected) => {
        const own = new URL(server.url('postgres').replace('127.0.0.1', 'localhost'));
        own.username = CERTIFIED;
        own.password = '';
        own.searchParams.set('sslmode', 'verify-full');
        own.searchParams.set('sslrootcert', file('right.pem'));
        if (cert) own.searchParams.set('sslcert', file(`${cert}.pem`));
        if (key) own.searchParams.set('sslkey', file(`${key}.key`));
        const answer = await connect(own.href);
        if (expected === true) expect(answer).toBe(true);
        else expect(answer).toContain(expected);
      },
    );

    test('is refused, when it is required and the server has none, with what to do', async () => {
      expect(await connect(`${shared.url('postgres')}?sslmode=require`)).toContain('set ssl = on there');
    });
  }),
);
