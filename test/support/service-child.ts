import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/config.ts';
import { guardProcess } from '../../src/dispatch/process-guard.ts';
import { startService } from '../../src/service.ts';
import { closeAtSignal } from '../../src/stopping.ts';

// A service in a process of its own, with the handlers of the module named in its first argument.
const app = await import(process.argv[2] ?? '');
const config = loadConfig();
const log = pino({ level: config.LOG_LEVEL });
const guard = guardProcess(log);
const service = await startService({ config, app, clock: systemClock, log, random: Math.random });
process.stdout.write(`${JSON.stringify({ port: service.port })}\n`);
closeAtSignal({
  delay: 20_000,
  async close() {
    await service.stop();
    guard.expectExit();
  },
});
