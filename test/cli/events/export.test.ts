import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest, type EventDesk, ndjson } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { eventually } from '../../support/eventually.ts';
import { present } from '../../support/only.ts';
import { programEnv } from '../../support/sample-handlers.ts';
import { size } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine
const cli = fileURLToPath(new URL('../../../bin/hookkit.js', import.meta.url));

function drafts({ directory }: EventDesk): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.draft'));
}

test('writes to stdout, when --out names that as -', async () => {
  await desk().fill(3);
  const { code, stdout, stderr } = await desk().events(['export', '--out', '-']);
  expect(code).toBe(0);
  expect(stdout).toBe((await desk().events(['export'])).stdout);
  expect(stderr).not.toContain('exported to -');
});

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

test('replaces an old file, when the new one is complete, and leaves nothing beside it', async () => {
  await desk().fill(3);
  const file = desk().write('r.ndjson', '{"body":"old"}\n');
  const { code, stdout, stderr } = await desk().events(['export', '--out', file]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '', stderr: `3 events exported to ${file}\n` });
  expect(desk().lines('r.ndjson')).toHaveLength(3);
  expect(drafts(desk())).toEqual([]);
});

test('leaves out pruned events, when bodies are gone, and says how many', async () => {
  await desk().fill(3);
  const store = await desk().store();
  const [one, other] = await eventsIn(store, {}, 2);
  await store.prune(Date.now() + 1, 2, [present(one).seq, present(other).seq]);
  const { code, stdout, stderr } = await desk().events(['export']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'left out: 2 events whose bodies were pruned\n' });
  expect(ndjson(stdout)).toHaveLength(1);
});

// In npm test, test/cli/closed-pipe does the same.
if (size({ small: false, full: true })) {
  test('ends quietly, when its reader stops before the end, without an error', async () => {
    await desk().fill(1200);
    const command = `("${process.execPath}" "${cli}" events export; echo "ended with $?" >&2) | head -1`;
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], {
      env: { ...programEnv, ...desk().env },
      cwd: desk().directory,
    });
    expect({ lines: ndjson(stdout).length, stderr }).toEqual({ lines: 1, stderr: 'ended with 0\n' });
  });
}

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

test('leaves no file, when it is killed half-way, and a second run writes it', async () => {
  await desk().fill(MANY);
  const file = desk().path('r.ndjson');
  const { child, exited } = await exportUntilBegun(file);
  child.kill('SIGKILL');
  await exited;
  expect({ file: existsSync(file), drafts: drafts(desk()).length }).toEqual({ file: false, drafts: 1 });
  expect(await desk().events(['export', '--out', file])).toMatchObject({ code: 0 });
  expect(desk().lines('r.ndjson')).toHaveLength(MANY);
});

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

test('replaces ids alike in both, when two recordings are redacted with one key, and otherwise with another', async () => {
  await desk().fill(4, 2);
  const key = desk().write('redact.key', 'a-key-of-more-than-16-bytes\n');
  const args = ['export', '--redact', '--redact-key-file', key];
  const [first, second, third] = [
    await desk().events(args),
    await desk().events([...args, '--resource', 'media:media001']),
    await desk().events(['export', '--redact']),
  ].map(({ stdout }) => ndjson(stdout).map(({ body }) => JSON.parse(body).media_id));
  expect([first?.[0], first?.[1]]).toEqual([first?.[2], first?.[3]]);
  expect(second).toEqual([first?.[1], first?.[1]]);
  expect(third).not.toContain(first?.[0]);
  expect(desk().outputs.join()).not.toMatch(/media00|site0001|webhook1|a-key-of/);
});

test.each([
  [['--redact-key-file', 'k'], /--redact-key-file is for --redact/],
  [['--redact', '--redact-key-file', 'nowhere'], /cannot read the redaction key: ENOENT/],
  [['--redact', '--redact-key-file', 'short'], /shorter than 16 bytes/],
])('says what is wrong, when called with %j, and ends with 2', async (args, message) => {
  desk().write('short', 'short');
  const { code, stderr } = await desk().events(['export', ...args]);
  expect(code).toBe(2);
  expect(stderr).toMatch(message);
});

test('says so, when the file cannot be written, and ends with 1', async () => {
  await desk().fill(1);
  const { code, stderr } = await desk().events(['export', '--out', desk().path('nowhere/r.ndjson')]);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^hookkit: cannot write .*ENOENT/),
  });
});
