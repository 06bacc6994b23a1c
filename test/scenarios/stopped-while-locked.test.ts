import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { startProcess } from '../support/service-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

jest.setTimeout(60_000); // it waits for a lock in vain, twice
const BRIEF = fileURLToPath(new URL('./handlers/brief.ts', import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

interface Line {
  readonly msg?: string;
  readonly event?: string;
  readonly error?: string;
}

/** Stops a server whose handlers run, while another program locks its database. @returns its events, and what it logged */
async function stopLocked(grace: number): Promise<{ ids: string[]; lines: Line[] }> {
  const path = join(directory, 'receiver.db');
  const service = await startProcess({
    ...{ DATABASE_URL: `sqlite:${path}`, WEBHOOK_SECRET: SECRET, HANDLERS: BRIEF },
    ...{ SHUTDOWN_GRACE_MS: String(grace), LOG_LEVEL: 'info' },
  });
  const ids: string[] = [];
  for (let number = 0; number < 3; number++) {
    const answer = await deliver(service.url, bodyOf(number));
    ids.push(((await answer.json()) as { id: string }).id);
  }
  const other = new Database(path);
  const begun = () => service.output().match(/"msg":"it begins"/g)?.length;
  await eventually('all are at work', () => begun() === ids.length);
  other.exec('BEGIN IMMEDIATE');
  service.child.kill('SIGTERM');
  expect(await service.exited).toBe(1);
  other.exec('COMMIT');
  other.close();
  const written = service.output().split('\n');
  return { ids, lines: written.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)) };
}

test.each([0, 3000])(
  'a stop with %i ms of grace names every event whose result it could not store, and ends with 1, when another program locks the database',
  async (grace) => {
    const { ids, lines } = await stopLocked(grace);
    const named = lines.filter(({ msg }) => msg?.startsWith('cannot store a result before the stop'));
    expect(named.map(({ event }) => event).sort()).toEqual(ids.sort());
    expect(lines.at(-1)?.msg).toMatch(/did not stop in order/);
    expect(lines.at(-1)?.error).not.toMatch(/took longer/);
  },
);
