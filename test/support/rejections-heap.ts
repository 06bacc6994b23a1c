import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { createInspector } from '../../src/inspector/index.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import { postText, rawConnection } from './raw-http.ts';
import { temporaryDirectory } from './temporary-directory.ts';

// A process of its own, with --expose-gc, since what is measured is its heap: how much of it 200 rejections of notifications
// of so many bytes keep, beside what 200 small ones have kept before. It prints both sums.
const EACH = Number(process.argv[2]);
const REJECTIONS = 200;
/** Beside the long texts. */
const ROOM = 4096;

const directory = await temporaryDirectory();
const config = parseConfig({
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
  BODY_LIMIT: String(EACH + ROOM),
  REJECT_LIMIT: '1000000',
  TRUST_PROXY: '1',
  QUARANTINE_MAX_BYTES: '0', // what waits for the quarantine is bounded by itself
  DRAIN_MS: '0',
  SHUTDOWN_GRACE_MS: '0',
});
const store = openStore({
  url: config.DATABASE_URL,
  clock: systemClock,
  secretsKey: config.SECRETS_KEY,
  threads: false,
});
const service = await startService({
  config,
  app: { handlers: {} },
  store,
  clock: systemClock,
  log: pino({ level: 'warn' }, { write: () => {} }),
  random: Math.random,
  admin: createInspector(systemClock),
});

let number = 0;

/** One notification, in one of four ways to be long; gives its length. */
async function refuse(length: number): Promise<number> {
  const long = `${number++}`.padEnd(length, 'x');
  const usual = { event: 'media_available', webhook_id: `w${number}`, media_id: 'm', site_id: 's' };
  const [body, source] = [
    [{ ...usual, event: long }, '192.0.2.1'],
    [{ ...usual, webhook_id: long }, '192.0.2.1'],
    [{ ...usual, title: long }, '192.0.2.1'],
    [usual, long],
  ][number % 4] as [object, string];
  const text = JSON.stringify(body);
  const headers = [
    `Authorization: Bearer a.b.${'c'.repeat(43)}`,
    `X-Forwarded-For: ${source}`,
    `Content-Length: ${text.length}`,
  ];
  const connection = await rawConnection(service.port);
  connection.write(postText('/webhooks/media', headers, text));
  const answer = await connection.closed;
  if (!answer.startsWith('HTTP/1.1 401 ')) throw new Error(answer.slice(0, 100));
  return text.length + source.length;
}

async function held(): Promise<number> {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 50)); // what is freed by a callback
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** So many at once, since each waits for a fresh read of the secrets. */
const TOGETHER = 20;

async function refuseAll(length: number): Promise<number> {
  let sent = 0;
  for (let count = 0; count < REJECTIONS; count += TOGETHER) {
    const lengths = await Promise.all(Array.from({ length: TOGETHER }, () => refuse(length)));
    sent = lengths.reduce((sum, one) => sum + one, sent);
  }
  return sent;
}

await refuseAll(10);
const before = await held();
const sent = await refuseAll(EACH);
process.stdout.write(JSON.stringify({ sent, kept: (await held()) - before }));
await service.stop();
rmSync(directory, { recursive: true });
