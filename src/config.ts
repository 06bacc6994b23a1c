import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { KitError, messageOf } from './base/errors.ts';
import { isPackage, kitFolder } from './base/program.ts';
import { isLoopback } from './base/request-origin.ts';
import { CREDENTIAL, DATABASE_URL, isBaseUrl, SQLITE_URL } from './base/url.ts';

/** The error of a variable: its value, and the valid values. */
function mistake(valid: string) {
  return ({ input }: { readonly input?: unknown }) =>
    `${JSON.stringify(input)} is not valid; it takes ${valid}`;
}

/** The error of a variable whose value is never shown. */
const hidden = (valid: string) => `the given value (not shown) is not valid; it takes ${valid}`;

/** A whole number between two bounds, both included. */
function whole(min: number, max: number, what: string) {
  const isWithin = (value: string) =>
    /^\d{1,15}$/.test(value) && Number(value) >= min && Number(value) <= max;
  const error = mistake(`${what}, a whole number from ${min} to ${max}`);
  return z.string().refine(isWithin, { error }).transform(Number);
}

const ms = (min: number, max: number) => whole(min, max, 'a time in milliseconds');
const text = (pattern: RegExp, valid: string) => z.string().regex(pattern, { error: mistake(valid) });
/** A text that is never shown. Where its file cannot be read, an Error stands in its place. */
const secret = (pattern: RegExp, valid: string) =>
  z.string({ error: ({ input }) => messageOf(input) }).regex(pattern, { error: hidden(valid) });

/** The base URL of an API. It is not shown, as it may have a password. @param api where the paths of the API begin */
function baseUrl(api: string) {
  const isBase = (value: string) => isBaseUrl(value) && !value.replace(/\/+$/, '').endsWith(api);
  const error = hidden(`an http or https URL without a user name, password or query, and without ${api}`);
  return z.string().refine(isBase, { error });
}

const SQLITE_FILE = 'sqlite:PATH of a file, without spaces around PATH, such as sqlite:./data';
const database = secret(DATABASE_URL, `${SQLITE_FILE}/receiver.db, or postgres://USER@HOST:PORT/DATABASE`);
const path = text(/^(?!\/(healthz|readyz)$)(\/[\w.~-]+)+$/i, 'a path such as /webhooks/media');
const instance = text(/^[\w.-]{1,100}$/, 'at most 100 letters, digits, dots, hyphens and underscores');
// Browsers encode other characters in different ways, and clients send none of them as Bearer.
const adminToken = secret(/^[!-~]{16,}$/, 'at least 16 characters, ASCII without spaces').optional();
const THIS_MACHINE = String.raw`127\.\d+\.\d+\.\d+|localhost|\[::1\]`;
// Its path may be a secret, as that of an incoming webhook is: it goes over no network in plain text.
const alertUrl = secret(
  new RegExp(String.raw`^(https://[^\s/?#@\\]+|http://(${THIS_MACHINE})(:\d+)?)([/?#]\S*)?$`, 'i'),
  'an https URL, or an http URL of this machine, without a user name or password',
).optional();
const host = text(/^[\w.:-]+$/, 'a host name or address');

const machine = hostname().replaceAll(/[^\w.-]/g, '-');
/** Drawn once, so that a process has one name in the log, in its leases and in its statistics. */
const DRAWN_NAME = `${machine.slice(0, 80)}-${randomBytes(4).toString('hex')}`;

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Every variable that the service reads, with its default. A test compares it with `.env.example`. */
const variables = {
  HOST: host.default('0.0.0.0'),
  PORT: whole(0, 65_535, 'a TCP port').default(3000),
  WEBHOOK_PATH: path.default('/webhooks/media'),
  BODY_LIMIT: whole(1024, 16_777_216, 'bytes').default(65_536),
  TRUST_PROXY: whole(0, 16, 'how many proxies stand before the service').default(0),
  HEADERS_TIMEOUT_MS: ms(100, 600_000).default(10_000),
  REQUEST_TIMEOUT_MS: ms(100, 600_000).default(15_000),
  KEEP_ALIVE_TIMEOUT_MS: ms(100, 600_000).default(65_000),
  MAX_CONNECTIONS: whole(1, 1_000_000, 'connections').default(5000),
  MAX_WAITING_ACKS: whole(1, 1_000_000, 'requests').default(10_000),

  WEBHOOK_SECRET: secret(/^(?=.*\S).+$/, 'the secret of a webhook, and not blank').optional(),
  REJECT_LIMIT: whole(1, 1_000_000, 'failures a minute').default(60),
  QUARANTINE_MAX_BYTES: whole(0, 1_099_511_627_776, 'bytes').default(268_435_456),

  DATABASE_URL: database.default('sqlite:./data/receiver.db'),
  DATABASE_POOL: whole(2, 1000, 'connections').default(10),
  SECRETS_KEY: secret(/^[A-Za-z0-9+/]{43}=$/, '32 bytes in base64, as from: openssl rand -base64 32')
    .transform((value) => Buffer.from(value, 'base64'))
    .optional(),
  RETENTION_DAYS: whole(1, 36_500, 'days').optional(),

  HANDLERS: text(/^.+$/, 'the path of a module that exports handlers').optional(),
  INSTANCE_NAME: instance.default(DRAWN_NAME),
  INSTANCES: whole(1, 1000, 'processes').optional(),
  DISPATCH_CONCURRENCY: whole(1, 1000, 'handlers').default(64),
  HANDLER_TIMEOUT_MS: ms(1, DAY_MS).default(30_000),
  RETRY_MAX_ATTEMPTS: whole(1, 1000, 'attempts').default(40),
  RETRY_BASE_MS: ms(1, DAY_MS).default(1000),
  RETRY_CAP_MS: ms(1, 30 * DAY_MS).default(HOUR_MS),
  LEASE_MS: ms(100, DAY_MS).default(30_000),
  DRAIN_MS: ms(0, HOUR_MS).default(3000),
  SHUTDOWN_GRACE_MS: ms(0, HOUR_MS).default(4000),

  ADMIN_HOST: host.default('127.0.0.1'),
  ADMIN_PORT: whole(0, 65_535, 'a TCP port').default(3001),
  ADMIN_TOKEN: adminToken,
  ADMIN_READ_TOKEN: adminToken,
  ADMIN_NAMES: text(/^[\w.-]+(\s*,\s*[\w.-]+)*$/, 'host names, separated by commas')
    .transform((names) => names.toLowerCase().split(/\s*,\s*/))
    .optional(),
  ADMIN_TRUST_PROXY: whole(0, 16, 'how many proxies stand before the admin listener').default(0),

  ALERT_URL: alertUrl,

  PROVIDER_BASE_URL: baseUrl('/v2').default('https://api.jwplayer.com'),
  PROVIDER_API_SECRET: secret(CREDENTIAL, 'an API secret of the provider, ASCII without spaces').optional(),
  STATUSES_BASE_URL: baseUrl('/api/v1').optional(),
  STATUSES_TOKEN: secret(CREDENTIAL, 'a user token, ASCII without spaces').optional(),

  MOCK_PORT: whole(0, 65_535, 'a TCP port').default(4010),
  DEV_DATABASE_URL: secret(SQLITE_URL, `${SQLITE_FILE}/dev.db`).default('sqlite:./data/dev.db'),
  LOG_LEVEL: z.enum(LEVELS, { error: mistake(`one of ${LEVELS.join(', ')}`) }).default('info'),
} as const;

type Variable = keyof typeof variables;

/** A mistake of two variables together, told beside those of each. */
const together = (variable: Variable, error: string) => ({ path: [variable], error, when: () => true });

const environment = z
  .object(variables)
  .refine(
    ({ ADMIN_HOST, ADMIN_TOKEN }) => ADMIN_TOKEN !== undefined || isLoopback(ADMIN_HOST),
    together('ADMIN_TOKEN', 'must be set where ADMIN_HOST is not a loopback address'),
  )
  .refine(
    ({ ADMIN_TOKEN: all, ADMIN_READ_TOKEN: read }) => read === undefined || (all ?? read) !== read,
    together('ADMIN_READ_TOKEN', 'needs ADMIN_TOKEN beside it, and must differ from it'),
  )
  .refine(
    (env) => (env.STATUSES_BASE_URL === undefined) === (env.STATUSES_TOKEN === undefined),
    together('STATUSES_TOKEN', 'must be set together with STATUSES_BASE_URL'),
  );

/** The settings of the environment, checked and with defaults filled in. Times are milliseconds, sizes bytes. */
export type Config = z.output<typeof environment> & {
  /** where a command has read them, for errors */
  readonly readFrom?: string | undefined;
};

/** The names of all variables, in the order of `.env.example`. */
export const variableNames = Object.keys(variables) as Variable[];

/** Variables that name the file of a secret, as containers have secrets. A test finds them in `.env.example`. */
export const fileNames: readonly string[] = [
  ...['WEBHOOK_SECRET_FILE', 'DATABASE_URL_FILE', 'SECRETS_KEY_FILE', 'ADMIN_TOKEN_FILE'],
  ...['ADMIN_READ_TOKEN_FILE', 'ALERT_URL_FILE', 'PROVIDER_API_SECRET_FILE', 'STATUSES_TOKEN_FILE'],
];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks an environment. A variable that is empty counts as not set.
 * @param told where it comes from, for errors
 * @throws KitError CONFIG_INVALID naming every mistake at once: the variable, its value (unless secret), the valid values
 */
export const parseConfig = (env: Environment, told?: string): Config => parseSettings(environment, told, env);

/** An empty value counts as not set. Of a secret, it is what its file holds, or the Error that tells why that does not count. */
function given(name: string, env: Environment): string | Error | undefined {
  const file = `${name}_FILE`;
  const path = fileNames.includes(file) && env[file];
  if (!path) return env[name] || undefined;
  if (env[name]) return new Error(`is set, and ${file} too: set one of them`);
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (cause) {
    return new Error(`cannot read ${path}, which ${file} names: ${messageOf(cause)}`);
  }
}

/** Whether quotes are a part of a value: `docker run --env-file` keeps those of the file. */
const isQuoted = (value: unknown) => /^(['"`]).*\1$/s.test(String(value));

/** The variables of the environment whose values have quotes around them. */
export function quotedAmong(names: readonly string[]): string[] {
  return names.filter((name) => isQuoted(process.env[name]));
}

/**
 * The settings of a schema, from the environment if no other is given. Of a value, only the messages of the schema say something.
 * @param told where they come from, for errors
 * @throws KitError CONFIG_INVALID naming every mistake
 */
export function parseSettings<S extends z.ZodObject>(
  schema: S,
  told = 'the environment',
  env: Environment = process.env,
): z.output<S> {
  const names = Object.keys(schema.shape);
  const values = Object.fromEntries(names.map((name) => [name, given(name, env)]));
  const { success, data, error } = schema.safeParse(values);
  if (success) return data;
  const mistakes = error.issues.map(({ path: [name], code, message }) => {
    const variable = String(name ?? 'the settings together');
    const quotes = isQuoted(values[variable]) ? '; the quotes around it count as a part of it' : '';
    const isMissing = code !== 'custom' && names.includes(variable) && values[variable] === undefined;
    return `\n  ${variable}: ${isMissing ? 'is not set' : message}${quotes}`;
  });
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`;
  throw new KitError('CONFIG_INVALID', `${told} has ${count}:${mistakes.join('')}`);
}

/** Where settings come from, by the options that all commands have. */
export interface GlobalFlags {
  /** the file that `--env-file` names; without it a `.env` counts, which may be missing */
  readonly envFile?: string | undefined;
  /** `--dev`: the command works on the database of `hookkit dev` */
  readonly dev?: boolean | undefined;
}

/** The path of the file of settings that counts beside the environment. */
export function envFileOf({ envFile = '.env' }: GlobalFlags): string {
  return resolve(envFile);
}

/**
 * The folder that the handlers are in. A clone has them itself, wherever the command is typed. An installed package has none: they
 * are where the command is typed, as `.env` and the database are.
 */
export function projectFolder(): string {
  return isPackage ? process.cwd() : fileURLToPath(kitFolder);
}

/** The environment for a process that tells its parent of each file that it loads, as Node does under `--watch`. */
export function tellingLoads(): NodeJS.ProcessEnv {
  return { ...process.env, WATCH_REPORT_DEPENDENCIES: '1' };
}

/**
 * Puts the file of settings into the environment, which takes precedence: handlers read settings of their own from there.
 * @returns what was read, for errors
 */
function readSettings(flags: GlobalFlags): string {
  for (const [name, value] of Object.entries(variablesOfFile(flags))) process.env[name] ??= value;
  const path = envFileOf(flags);
  return existsSync(path) ? `the environment with ${path}` : `the environment (there is no ${path})`;
}

/** The variables of the file of settings; none without a file. @throws KitError CONFIG_INVALID if it cannot be read */
export function variablesOfFile(flags: GlobalFlags, parse = parseEnv): Environment {
  const path = envFileOf(flags);
  if (flags.envFile === undefined && !existsSync(path)) return {};
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('\0')) throw new Error('it has bytes of 0, as in UTF-16: save it as UTF-8');
    return parse(text.replace(/^\uFEFF/, '')); // a byte order mark would be a part of the first name
  } catch (cause) {
    throw new KitError('CONFIG_INVALID', `cannot read ${path}: ${messageOf(cause)}`, { cause });
  }
}

/**
 * The configuration of the running command.
 * @param fixed values of variables that count before the environment
 * @throws KitError CONFIG_INVALID naming every mistake, and where settings were read
 */
export function loadConfig(flags: GlobalFlags, fixed: Partial<Record<Variable, string>> = {}): Config {
  const readFrom = readSettings(flags);
  const config = { ...parseConfig({ ...process.env, ...fixed }, readFrom), readFrom };
  return flags.dev ? { ...config, DATABASE_URL: config.DEV_DATABASE_URL } : config;
}

/** The limits of this process. Only Linux has it. */
const LIMITS = '/proc/self/limits';

/** How many files this process may have open, each connection being one. Infinite if the system sets no limit, or does not say. */
export function mostOpenFiles(): number {
  const limits = existsSync(LIMITS) ? readFileSync(LIMITS, 'utf8') : '';
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? 'Infinity');
}

/**
 * As many connections as are wanted, or as many as a part of the files that may be open. Beside the receiver's half, the
 * admin listener has an eighth, and the database and the handlers' own connections have the rest.
 */
export function connectionsWithin(wanted: number, part = 1 / 2): number {
  return Math.min(wanted, Math.floor(mostOpenFiles() * part));
}

/** The configuration of a trial: of the environment only ADMIN_PORT counts. @param own the values of other variables */
export function loadTrialConfig(flags: GlobalFlags, own: Partial<Record<Variable, string>>): Config {
  const readFrom = readSettings(flags);
  return parseConfig({ ...own, ADMIN_PORT: process.env.ADMIN_PORT }, readFrom);
}
