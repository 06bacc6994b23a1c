import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest, type EventDesk, ndjson } from '../../support/event-desk.ts';
import { eventually } from '../../support/eventually.ts';
import { programEnv } from '../../support/sample-handlers.ts';
import { verified } from '../../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine
const cli = fileURLToPath(new URL('../../../bin/hookkit.js', import.meta.url));

function drafts({ directory }: EventDesk): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.draft'));
}

test('writes every event in the order in which they came, when more than a page of them is exported', async () => {
  await desk().fill(450);
  const { code, stdout, stderr } = await desk().events(['export']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = ndjson(stdout);
  expect(lines).toHaveLength(450);
  expect(lines[449]).toEqual({
    v: 1,
    body: verified({
      at: Date.UTC(2026, 0, 1) + 449_000,
      media_id: 'media449',
      webhook_id: 'webhook1',
      site_id: 'site0001',
    }).body,
    received_at: '2026-01-01T00:07:29.250Z',
    webhook_id: 'webhook1',
  });
  expect(lines.map(({ received_at }) => received_at)).toEqual(
    lines.map(({ received_at }) => received_at).sort(),
  );
});

/** So many that a busy machine sees the export at work. */
const MANY = 40_000;

/** Exports to a file while the database is too large to be done soon; resolves when it has begun to write. */
async function exportUntilBegun(file: string) {
  const child = spawn(process.execPath, [cli, 'events', 'export', '--out', file], {
    env: { ...programEnv, ...desk().env },
    cwd: desk().directory,
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const exited = once(child, 'exit');
  await eventually('the draft is there', () => drafts(desk()).length > 0);
  return { child, exited, stderr: () => stderr };
}

test('says how far it got and leaves nothing, when Ctrl-C is pressed, and ends with 1', async () => {
  await desk().fill(MANY);
  const file = desk().write('r.ndjson', '{"body":"old"}\n');
  const { child, exited, stderr } = await exportUntilBegun(file);
  child.kill('SIGINT');
  expect(await exited).toEqual([1, null]);
  expect(stderr()).toMatch(/^hookkit: interrupted after \d+ events: .*r\.ndjson was not written\n$/);
  expect(readFileSync(file, 'utf8')).toBe('{"body":"old"}\n');
  expect(drafts(desk())).toEqual([]);
});
