import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { reasonOf, serversOf } from '../../../src/store/postgres/servers.ts';
import { connected } from '../../support/postgres-databases.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { describeWithPostgres, startPostgres } from '../../support/shared-postgres.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { describeWith } from '../../support/tools.ts';

const CERTIFIED = 'certified';
const KEY = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';

describeWithPostgres('TLS to PostgreSQL', () =>
  describeWith('openssl', 'with a certificate for localhost', () => {
    let folder: string;
    let server: PostgresServer;
    const file = (name: string) => join(folder, name);
    const textOf = (name: string) => readFileSync(file(name), 'utf8');
    const openssl = (line: string) =>
      execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'pipe' });

    beforeAll(async () => {
      folder = await temporaryDirectory();
      for (const name of ['right', 'wrong'])
        openssl(`req -x509 ${KEY} -subj /CN=${name} -keyout ${name}.key -out ${name}.pem`);
      await writeFile(file('names'), 'subjectAltName=DNS:localhost');
      for (const [name, subject, names] of [
        ['server', 'localhost', ' -extfile names'],
        ['own', CERTIFIED, ''],
      ]) {
        openssl(`req ${KEY} -subj /CN=${subject} -keyout ${name}.key -out ${name}.csr`);
        const by = `-CA right.pem -CAkey right.key -CAcreateserial${names}`;
        openssl(`x509 -req -in ${name}.csr ${by} -out ${name}.pem`);
      }
      for (const name of ['own', 'right']) await chmod(file(`${name}.key`), 0o600);
      server = await startPostgres({
        settings: { ssl: 'on', ssl_ca_file: 'right.pem' },
        files: {
          'server.crt': textOf('server.pem'),
          'server.key': textOf('server.key'),
          'right.pem': textOf('right.pem'),
          'pg_hba.conf': `hostssl all ${CERTIFIED} all cert\nhost all all all scram-sha-256\n`,
        },
      });
      await connected(server.adminUrl(), (admin) => admin.query(`CREATE ROLE ${CERTIFIED} LOGIN`));
    });

    /** Whether a connection is encrypted, or why there is none. */
    async function encrypted(query: string, host: string): Promise<boolean | string> {
      const url = server.url('postgres').replace('127.0.0.1', host);
      const roots = query.replace(/sslrootcert=(\w+)/, (_, name) => `sslrootcert=${file(`${name}.pem`)}`);
      return connect(`${url}${roots}`);
    }

    async function connect(url: string): Promise<boolean | string> {
      let client: pg.Client | undefined;
      try {
        client = new pg.Client(serversOf(url)[0]);
        await client.connect();
        const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
        return rows[0]?.ssl ?? 'no answer';
      } catch (error) {
        const reason = reasonOf(error);
        const { password, host } = new URL(url);
        for (const part of [password, host, url]) if (part) expect(reason).not.toContain(part);
        return reason;
      } finally {
        await client?.end();
      }
    }

    const AUTHORITY = expect.stringContaining('set sslrootcert to the certificate of its authority');
    test.each<[string, string, unknown]>([
      ['', '127.0.0.1', false],
      ['?sslmode=require', '127.0.0.1', true],
      ['?sslmode=verify-ca&sslrootcert=right', '127.0.0.1', true],
      ['?sslmode=verify-full&sslrootcert=right', 'localhost', true],
      ['?sslmode=require&sslrootcert=wrong', 'localhost', AUTHORITY],
      ['?sslmode=verify-full&sslrootcert=wrong', 'localhost', AUTHORITY],
      ['?sslmode=verify-full', 'localhost', AUTHORITY],
      ['?sslmode=verify-full&sslrootcert=right', '127.0.0.1', expect.stringContaining('another name than')],
    ])(
      'is as sslmode says, or refused with advice, when the URL has %j for %s',
      async (query, host, expected) => {
        expect(await encrypted(query, host)).toEqual(expected);
      },
    );

    test('has a certificate of its own, when the URL names one and its key', async () => {
      const own = new URL(server.url('postgres').replace('127.0.0.1', 'localhost'));
      own.username = CERTIFIED;
      own.password = '';
      own.searchParams.set('sslmode', 'verify-full');
      own.searchParams.set('sslrootcert', file('right.pem'));
      expect(await connect(own.href)).toContain('whether it wants a certificate');
      own.searchParams.set('sslcert', file('own.pem'));
      own.searchParams.set('sslkey', file('own.key'));
      expect(await connect(own.href)).toBe(true);
    });
  }),
);
