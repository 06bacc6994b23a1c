import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { systemClock } from '../../src/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { handlers } from '../../src/handlers/index.ts';
import { startService } from '../../src/service.ts';
import { BENCH_SECRET } from '../secret.ts';

const directory = mkdtempSync(join(tmpdir(), 'hookkit-bench-'));
const config = parseConfig({
  HOST: '127.0.0.1',
  PORT: '0',
  DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
  WEBHOOK_SECRET: BENCH_SECRET,
});
const log = pino({ level: 'warn' });
const service = await startService({ config, handlers, clock: systemClock, log, random: Math.random });
process.send?.({ port: service.port, directory });
