import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { KitError } from '../../../src/base/errors.ts';
import { serversOf } from '../../../src/store/postgres/url.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PASSWORD = randomBytes(8).toString('hex');
const only = (url: string) => {
  const [server, ...others] = serversOf(url);
  if (!server || others.length > 0) throw new Error('one server was expected');
  return new pg.Client(server);
};

describe('a DATABASE_URL', () => {
  test('names a server for each of its hosts, when it has several', () => {
    const servers = serversOf(`postgresql://me:${PASSWORD}@one:5432,two:5433/events?sslmode=disable`);
    const clients = servers.map((server) => new pg.Client(server));
    expect(clients.map(({ host, port, database, user }) => [host, port, database, user])).toEqual([
      ['one', 5432, 'events', 'me'],
      ['two', 5433, 'events', 'me'],
    ]);
    expect(clients.map(({ password }) => password)).toEqual([PASSWORD, PASSWORD]);
  });

  test('checks the certificate or does not, when sslmode says so, as with libpq', async () => {
    const ca = join(await temporaryDirectory(), 'ca.pem');
    await writeFile(ca, 'a certificate');
    const tlsOf = (query: string) =>
      (only(`postgres://me@one/events${query}`) as unknown as { ssl: unknown }).ssl;
    expect(tlsOf('')).toBe(false);
    expect(tlsOf('?sslmode=disable')).toBe(false);
    expect(tlsOf('?sslmode=require')).toMatchObject({ rejectUnauthorized: false });
    expect(tlsOf(`?sslmode=require&sslrootcert=${ca}`)).toMatchObject({ rejectUnauthorized: true });
    // Said in any case: what is not said NODE_TLS_REJECT_UNAUTHORIZED decides.
    const full = { rejectUnauthorized: true };
    expect(tlsOf(`?sslmode=verify-full&sslrootcert=${ca}`)).toEqual({ ...full, ca: 'a certificate' });
    expect(tlsOf('?sslmode=verify-full&sslrootcert=system')).toEqual(full);
    expect(tlsOf(`?sslmode=verify-ca&sslrootcert=${ca}`)).toMatchObject({
      ...full,
      ca: 'a certificate',
      checkServerIdentity: expect.any(Function),
    });
  });

  test('is refused, when it says nothing of TLS while PGSSLMODE asks for it', () => {
    const before = process.env.PGSSLMODE;
    process.env.PGSSLMODE = 'verify-full';
    try {
      expect(() => serversOf('postgres://me@one/events')).toThrow('has no sslmode, and PGSSLMODE is set');
      expect(serversOf('postgres://me@one/events?sslmode=disable')).toHaveLength(1);
    } finally {
      if (before === undefined) delete process.env.PGSSLMODE;
      else process.env.PGSSLMODE = before;
    }
  });

  test('is refused, when it trusts public authorities without the name of the server', () => {
    const use = () => serversOf('postgres://me@one/events?sslmode=require&sslrootcert=system');
    expect(use).toThrow('needs sslmode=verify-full');
  });

  test('names the folder of a socket', () => {
    expect(only('postgres://me@/events?host=%2Fvar%2Frun').host).toBe('/var/run');
  });

  test.each(['sslMode', 'ssl_mode', 'channel_binding', 'sslpassword', PASSWORD])(
    'is refused without a word of it, when it has a parameter that nobody reads: %s',
    (name) => {
      const use = () => serversOf(`postgres://me@one/events?sslmode=require&${name}=verify-full`);
      expect(use).toThrow('has a parameter (number 2) that is none of sslmode, ');
      expect(use).not.toThrow(PASSWORD);
    },
  );

  test.each([
    ['it is no URL', `postgres:${PASSWORD}`],
    ['its port is no number', `postgres://me:${PASSWORD}@one:port/events`],
    [
      'its certificate is not there',
      `postgres://me:${PASSWORD}@one/events?sslmode=verify-full&sslrootcert=/none/ca.pem`,
    ],
    ['its port is 0', `postgres://me:${PASSWORD}@one:5432,two:0/events`],
    ['its port is above 65535', `postgres://me:${PASSWORD}@one:65536/events`],
    ['its password has a slash', `postgres://me:${PASSWORD}/x@one/events`],
  ])('is refused without a word of it, when %s', (_, url) => {
    let message = 'it was taken';
    let code: unknown;
    try {
      serversOf(url);
    } catch (error) {
      message = String(error);
      code = (error as KitError).code;
    }
    expect(message).toContain('DATABASE_URL');
    expect(code).toBe('CONFIG_INVALID');
    expect(message).not.toContain(PASSWORD);
  });

  test.each(['sslrootcert', 'sslcert', 'sslkey'])(
    'says which file cannot be read, when %s names it',
    async (name) => {
      const folder = await temporaryDirectory();
      for (const [path, code] of [
        [join(folder, 'none.pem'), 'ENOENT'],
        [folder, 'EISDIR'],
      ]) {
        const use = () => serversOf(`postgres://me@one/events?sslmode=require&${name}=${path}`);
        expect(use).toThrow(`DATABASE_URL names ${path} as ${name}, and this file cannot be read (${code})`);
        expect(use).not.toThrow('%XX');
      }
    },
  );
});
