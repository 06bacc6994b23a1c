import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { toVerified } from '../../src/store/verified.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { spawnCli } from '../support/run-cli.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MIB = 1024 * 1024;
const ROOM = 256 * MIB;
/** Of one process, quiet 113 MB; it was 973 with 220 MB in quarantine, and 1,223 after another webhook's import. */
const MOST_RSS = 512 * MIB;

let directory: string;
let service: ServiceProcess | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
});

afterEach(async () => {
  service?.child.kill('SIGKILL');
  await service?.exited;
  rmSync(directory, { recursive: true });
});

function peakOf(pid: number | undefined): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

(process.platform === 'linux' ? test : test.skip)(
  'a full quarantine takes little memory, when the service starts, another secret is imported, and all is admitted',
  async () => {
    const path = join(directory, 'receiver.db');
    const env = { DATABASE_URL: `sqlite:${path}` };
    const store = await SqliteStore.open({ path, clock: systemClock });
    let isFull = false;
    for (let number = 0; !isFull; number++) {
      const body = notification({ webhook_id: 'late', media_id: `m${number}`, title: 'x'.repeat(60_000) });
      const text = JSON.stringify(body);
      const token = tokenOf(text, 'late-secret');
      const entry = { ...toVerified(JSON.parse(text), text), token, source: '192.0.2.1' };
      isFull = !(await store.quarantine(entry, ROOM)).isKept;
    }
    const size = await store.quarantineSize();
    await store.close();

    service = await startProcess({ ...env, WEBHOOK_SECRET: 'not-the-one' });
    const { pid } = service.child;
    await spawnCli(['webhooks', 'import', '--id', 'another'], { env, stdin: 'another-secret' });
    const quiet = peakOf(pid);
    let imported = 0;
    const run = await spawnCli(['webhooks', 'import', '--id', 'late', '--json'], {
      env,
      stdin: 'late-secret',
      onSpawn: (child) => {
        const looking = setInterval(() => {
          if (child.exitCode === null) imported = Math.max(imported, peakOf(child.pid) || 0);
        }, 20);
        child.once('exit', () => clearInterval(looking));
      },
    });
    expect(run.code).toBe(0);
    const reader = await SqliteStore.open({ path, clock: systemClock });
    await eventually('all is admitted', async () => (await reader.quarantineSize()) === 0);
    expect(await reader.count({})).toBe(size);
    await reader.close();
    const peaks = { quiet, server: peakOf(pid), import: imported };
    process.stdout.write(
      `quarantine of ${size} entries, peaks in MB: ${JSON.stringify(peaks, (_, value) => (typeof value === 'number' ? Math.round(value / MIB) : value))}\n`,
    );
    for (const peak of Object.values(peaks)) expect(peak).toBeLessThan(MOST_RSS);
  },
);
