import { readdirSync, readFileSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest, type EventDesk, ndjson } from '../../support/event-desk.ts';
import { eventually } from '../../support/eventually.ts';
import { startCli } from '../../support/run-cli.ts';
import { verified } from '../../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

function drafts({ directory }: EventDesk): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.draft'));
}

test('writes every event in the order in which they came, when more than a page of them is exported', async () => {
  await desk().fill(450);
  const { code, stdout, stderr } = await desk().events(['export']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = ndjson(stdout);
  expect(lines).toHaveLength(450);
  const ids = { media_id: 'media449', webhook_id: 'webhook1', site_id: 'site0001' };
  const { body } = verified({ at: Date.UTC(2026, 0, 1) + 449_000, ...ids });
  const received_at = '2026-01-01T00:07:29.250Z';
  expect(lines[449]).toEqual({ v: 1, body, received_at, webhook_id: 'webhook1' });
  const times = lines.map((line) => line.received_at);
  expect(times).toEqual(times.toSorted());
});

/** Bodies so large that a busy machine sees the export at work. */
const ENLARGE = {
  sqlite: `UPDATE events SET body = json_set(body, '$.x', hex(zeroblob(20000)))`,
  postgres: `UPDATE hookkit.events SET body = jsonb_set(body::jsonb, '{x}', to_jsonb(repeat('0', 40000)))::text`,
};

test('says how far it got and leaves nothing, when Ctrl-C is pressed, and ends with 1', async () => {
  await desk().fill(3000);
  await desk().database.execute(ENLARGE);
  const file = desk().write('r.ndjson', '{"body":"old"}\n');
  const { directory: cwd, env } = desk();
  const run = startCli(['events', 'export', '--out', file], { env, cwd });
  await eventually('the draft is there', () => drafts(desk()).length > 0);
  run.kill('SIGINT');
  const { code, stderr } = await run.ended;
  expect(code).toBe(1);
  expect(stderr).toBe('hookkit: interrupted: the recording is not complete\n');
  expect(readFileSync(file, 'utf8')).toBe('{"body":"old"}\n');
  expect(drafts(desk())).toEqual([]);
});
