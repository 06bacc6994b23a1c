import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { KitError } from '../src/base/errors.ts';
import { type Config, fileNames, parseConfig, variableNames } from '../src/config.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

/** A valid value and one that is not, for every variable. */
const VALUES: Record<(typeof variableNames)[number], { valid: string; parsed?: unknown; invalid: string[] }> =
  {
    HOST: { valid: '::1', invalid: ['a host', 'http://x', 'x/y'] },
    PORT: { valid: '8080', parsed: 8080, invalid: ['-1', '65536', '80.5', 'http', '1e3', ' 80', '0x50'] },
    WEBHOOK_PATH: {
      valid: '/in/v2.0',
      invalid: ['webhooks', '/', '/a b', '/a/', '/healthz', '/READYZ', '/:id', '/*', '/a?b'],
    },
    BODY_LIMIT: { valid: '1024', parsed: 1024, invalid: ['1023', '16777217', '64kb'] },
    TRUST_PROXY: { valid: '1', parsed: 1, invalid: ['true', '17', 'loopback'] },
    HEADERS_TIMEOUT_MS: { valid: '100', parsed: 100, invalid: ['99', '600001', '10s'] },
    REQUEST_TIMEOUT_MS: { valid: '100', parsed: 100, invalid: ['0', '600001'] },
    KEEP_ALIVE_TIMEOUT_MS: { valid: '600000', parsed: 600_000, invalid: ['99', 'no'] },
    MAX_CONNECTIONS: { valid: '1', parsed: 1, invalid: ['0', '1000001', 'many'] },
    MAX_WAITING_ACKS: { valid: '1', parsed: 1, invalid: ['0', '1000001'] },
    WEBHOOK_SECRET: { valid: ' any text ', invalid: ['two\nlines', ' ', '\t'] },
    REJECT_LIMIT: { valid: '1', parsed: 1, invalid: ['0', '-5'] },
    QUARANTINE_MAX_BYTES: { valid: '0', parsed: 0, invalid: ['-1', '1099511627777', '1MB'] },
    DATABASE_URL: {
      valid: 'postgres://user:hunter2@one:5432,two/db?sslmode=verify-full',
      invalid: [
        ...['sqlite:', 'sqlite:postgres://user:hunter2@host/db', 'sqlite: /srv/receiver.db'],
        ...['sqlite:/srv/receiver.db ', 'sqlite:\u00a0receiver.db', 'sqlite:/srv/data/', 'sqlite::memory:'],
        ...['postgres://', 'mysql://user:hunter2@host/db', './x.db'],
      ],
    },
    DATABASE_POOL: { valid: '2', parsed: 2, invalid: ['1', '1001', 'all'] },
    SECRETS_KEY: { valid: KEY, parsed: Buffer.alloc(32, 7), invalid: ['short', KEY.slice(0, -1), `${KEY}=`] },
    RETENTION_DAYS: { valid: '30', parsed: 30, invalid: ['0', '36501', 'a month'] },
    HANDLERS: { valid: './mine.ts', invalid: ['two\nlines'] },
    INSTANCES: { valid: '3', parsed: 3, invalid: ['0', 'all'] },
    INSTANCE_NAME: { valid: 'Receiver_1.eu-west', invalid: ['a b', 'a/b', 'ä', 'n'.repeat(101)] },
    DISPATCH_CONCURRENCY: { valid: '1', parsed: 1, invalid: ['0', '1001'] },
    HANDLER_TIMEOUT_MS: { valid: '1', parsed: 1, invalid: ['0', '86400001'] },
    RETRY_MAX_ATTEMPTS: { valid: '1', parsed: 1, invalid: ['0', '1001'] },
    RETRY_BASE_MS: { valid: '1', parsed: 1, invalid: ['0', '1.5'] },
    RETRY_CAP_MS: { valid: '1', parsed: 1, invalid: ['0', 'Infinity'] },
    LEASE_MS: { valid: '100', parsed: 100, invalid: ['99', 'NaN'] },
    DRAIN_MS: { valid: '0', parsed: 0, invalid: ['-1', '3600001'] },
    SHUTDOWN_GRACE_MS: { valid: '0', parsed: 0, invalid: ['-1', '3600001'] },
    ADMIN_HOST: { valid: 'localhost', invalid: ['not a host'] },
    ADMIN_PORT: { valid: '0', parsed: 0, invalid: ['65536'] },
    ADMIN_TOKEN: {
      valid: 'sixteen-letters!',
      invalid: ['fifteen-letters', 'with spaces in between', 'größer-als-sechzehn'],
    },
    ADMIN_READ_TOKEN: { valid: 'sixteen-letters?', invalid: ['short'] },
    ADMIN_NAMES: { valid: 'Admin.example, other', parsed: ['admin.example', 'other'], invalid: ['a/b', ','] },
    ADMIN_TRUST_PROXY: { valid: '1', parsed: 1, invalid: ['true', '17', 'loopback'] },
    ALERT_URL: {
      valid: 'https://hooks.example/services/T0/hunter2',
      invalid: [
        ...['hooks.example', 'http://hooks.example/hunter2', 'http://127.0.0.1.example', 'ftp://127.0.0.1/'],
        ...['https://user:hunter2@hooks.example', 'http://localhost:1\\\\@a/'],
      ],
    },
    PROVIDER_BASE_URL: {
      valid: 'http://127.0.0.1:4010',
      invalid: [
        ...['api.example.com', 'file:///etc', 'https://user:hunter2@example.com', ' https://example.com'],
        ...['https://example.com/?key=hunter2', 'https://example.com/#v2', 'https://example.com/v2/'],
      ],
    },
    PROVIDER_API_SECRET: { valid: 'api-secret', invalid: ['with a space', 'geheimnisträger'] },
    STATUSES_BASE_URL: {
      valid: 'https://example.social/below/',
      invalid: ['example.social', 'https://example.social?key=hunter2', 'https://example.social/api/v1/'],
    },
    STATUSES_TOKEN: { valid: 'user-token', invalid: ['with a space', 'geheimnisträger'] },
    MOCK_PORT: { valid: '0', parsed: 0, invalid: ['65536'] },
    DEV_DATABASE_URL: { valid: 'sqlite:./x.db', invalid: ['sqlite:./data/', 'postgres://host/db'] },
    LOG_LEVEL: { valid: 'silent', invalid: ['INFO', 'verbose', '30'] },
  };

const SECRET_VARIABLES = (
  'WEBHOOK_SECRET DATABASE_URL DEV_DATABASE_URL SECRETS_KEY ADMIN_TOKEN ADMIN_READ_TOKEN ALERT_URL ' +
  'PROVIDER_BASE_URL PROVIDER_API_SECRET STATUSES_BASE_URL STATUSES_TOKEN'
).split(' ');

/** What another variable needs to be set beside it. */
const COMPANIONS: Record<string, Record<string, string>> = {
  ADMIN_HOST: { ADMIN_TOKEN: 'sixteen-letters!' },
  ADMIN_READ_TOKEN: { ADMIN_TOKEN: 'sixteen-letters!' },
  STATUSES_BASE_URL: { STATUSES_TOKEN: 'user-token' },
  STATUSES_TOKEN: { STATUSES_BASE_URL: 'https://example.social' },
};

function mistakesOf(env: Record<string, string>): string {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof KitError && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  return '';
}

describe('an environment', () => {
  test('has the same, when every variable is set and empty, and when others are set that are not ours', () => {
    const empty = Object.fromEntries(variableNames.map((name) => [name, '']));
    expect(parseConfig(empty)).toEqual(parseConfig({}));
    expect(parseConfig({}).INSTANCE_NAME).toMatch(/^[\w.-]+-[0-9a-f]{8}$/);
    expect(parseConfig({ PATH: '/bin', port: '1', NODE_ENV: 'test' })).toEqual(parseConfig({}));
  });

  test.each(variableNames)('takes %s, when it is valid, and changes nothing else', (name) => {
    const { valid, parsed = valid } = VALUES[name];
    const companions = COMPANIONS[name] ?? {};
    const expected = { ...parseConfig({}), ...companions, [name]: parsed };
    expect(parseConfig({ ...companions, [name]: valid })).toEqual(expected);
  });

  const wrong = variableNames.flatMap((name) => VALUES[name].invalid.map((invalid) => ({ name, invalid })));
  test.each(wrong)('is refused, when $name is $invalid, with what it takes', ({ name, invalid }) => {
    const message = mistakesOf({ ...COMPANIONS[name], [name]: invalid });
    expect(message).toMatch(
      new RegExp(`^the environment has 1 mistake:\n  ${name}: .+ is not valid; it takes \\S`),
    );
    for (const other of variableNames.filter((one) => one !== name))
      expect(message).not.toContain(`  ${other}:`);
  });

  test('is refused, when a variable that is no secret is not valid, with its value', () => {
    expect(mistakesOf({ PORT: 'eighty', LOG_LEVEL: '"info"' })).toBe(
      'the environment has 2 mistakes:\n' +
        '  PORT: "eighty" is not valid; it takes a TCP port, a whole number from 0 to 65535\n' +
        '  LOG_LEVEL: "\\"info\\"" is not valid; it takes one of trace, debug, info, warn, error, fatal, silent; ' +
        'the quotes around it count as a part of it',
    );
  });

  test.each(SECRET_VARIABLES)('is refused, when %s is not valid, without ever showing its value', (name) => {
    const given = name === 'WEBHOOK_SECRET' ? 'hunter2\nhunter2' : 'mysql://user hunter2@host';
    const message = mistakesOf({ [name]: given });
    expect(message).toContain(`  ${name}: the given value (not shown) is not valid; it takes `);
    expect(message).not.toContain('hunter2');
  });
});

test.each(fileNames)('%s names a file with the secret, a last line break left out', async (file) => {
  const name = file.replace(/_FILE$/, '') as keyof typeof VALUES;
  const { valid, parsed = valid } = VALUES[name];
  const path = join(await temporaryDirectory(), 'secret');
  const env = { ...COMPANIONS[name], [file]: path };
  expect(mistakesOf(env)).toMatch(`  ${name}: cannot read ${path}, which ${file} names: ENOENT`);
  for (const end of ['', '\n', '\r\n']) {
    writeFileSync(path, `${valid}${end}`);
    expect(parseConfig(env)[name]).toEqual(parsed);
  }
  const both = mistakesOf({ ...env, [name]: valid });
  expect(both).toContain(`  ${name}: is set, and ${file} too: set one of them`);
  writeFileSync(path, ''); // a mount that failed is no default
  expect(mistakesOf(env)).toContain(`  ${name}: the given value (not shown) is not valid`);
});

test.each([
  ['0.0.0.0', false],
  ['::', false],
  ['admin.example.com', false],
  ['127.0.0.1.example.com', false],
  ['127.1.2.3', true],
  ['::1', true],
  ['localhost', true],
])('the admin token must be set, unless ADMIN_HOST is loopback: %s', (ADMIN_HOST, isLoopback) => {
  const missing = '  ADMIN_TOKEN: must be set where ADMIN_HOST is not a loopback address';
  expect(mistakesOf({ ADMIN_HOST, PORT: 'x' }).includes(missing)).toBe(!isLoopback);
  expect(mistakesOf({ ADMIN_HOST, ADMIN_TOKEN: 'sixteen-letters!' })).toBe('');
});

test('the token that reads stands beside another one that changes', () => {
  const [ADMIN_TOKEN, ADMIN_READ_TOKEN] = ['sixteen-letters!', 'sixteen-letters?'];
  const wrong = '  ADMIN_READ_TOKEN: needs ADMIN_TOKEN beside it, and must differ from it';
  expect(mistakesOf({ ADMIN_READ_TOKEN })).toContain(wrong);
  expect(mistakesOf({ ADMIN_TOKEN, ADMIN_READ_TOKEN: ADMIN_TOKEN })).toContain(wrong);
  expect(mistakesOf({ ADMIN_TOKEN, ADMIN_READ_TOKEN })).toBe('');
});

test('the URL and the token of the scheduled statuses are needed together, whatever else is wrong', () => {
  const both = { STATUSES_BASE_URL: 'https://example.social', STATUSES_TOKEN: 'user-token' };
  expect(mistakesOf(both)).toBe('');
  for (const name of ['STATUSES_BASE_URL', 'STATUSES_TOKEN'] as const) {
    const message = mistakesOf({ [name]: both[name], PORT: 'x' });
    expect(message).toContain('the environment has 2 mistakes');
    expect(message).toContain('  STATUSES_TOKEN: must be set together with STATUSES_BASE_URL');
  }
});

const text = readFileSync(new URL('../.env.example', import.meta.url), 'utf8');
/** Without the name that each process draws. */
const { INSTANCE_NAME: _, ...fixed } = parseConfig({});
const defaults: Partial<Config> = fixed;

describe('.env.example', () => {
  test.each(variableNames)('has %s once, with its default or commented out, below what it is', (name) => {
    const settings = [...text.matchAll(new RegExp(`^(# ?)?${name}=(.*)$`, 'gm'))];
    const expected = [defaults[name] === undefined, String(defaults[name] ?? '')];
    expect(settings.map(([, mark, value]) => [mark !== undefined, value])).toEqual([expected]);
    const above = new RegExp(`((?:^# (?![A-Z0-9_]+=).*\\n)+)(?:# ?)?${name}=`, 'm').exec(text)?.[1];
    expect(above).toMatch(/^# .{10,}/);
    if (name.endsWith('_MS')) expect(above).toMatch(/milliseconds/);
    if (name === 'BODY_LIMIT') expect(above).toMatch(/bytes/);
    if (name === 'RETENTION_DAYS') expect(above).toMatch(/[Dd]ays/);
  });

  test('has no other variables, and all in the order of the configuration, so that both can be read side by side', () => {
    const names = [...text.matchAll(/^(?:# ?)?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name);
    expect(names).toEqual(variableNames);
    expect(text.match(/\b[A-Z_]+_FILE\b/g)).toEqual(fileNames);
  });

  test('is a valid environment, read as it is, and the same as none', () => {
    const set = [...text.matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => [name, value]);
    expect(parseConfig(Object.fromEntries(set))).toEqual(parseConfig({}));
  });
});
