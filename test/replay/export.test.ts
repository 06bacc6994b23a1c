import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { exportRecording, writeWholeFile } from '../../src/replay/export-recording.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('an export writes each page before it reads the next, and says how many bodies were pruned', async () => {
  const done: string[] = [];
  async function* received() {
    for (const page of ['1', '2', '3']) {
      done.push(`read ${page}`);
      yield [
        { body: `{"n":${page}}`, receivedAt: 0, webhookId: 'w', seq: 1 },
        { body: undefined, receivedAt: 0, webhookId: 'w', seq: 2 },
      ];
    }
  }
  const store = { queue: { received, lastSeq: async () => 6 } } as never;
  const write = async (lines: string) => void done.push(`written ${lines.length > 0}`);
  expect(await exportRecording(store, { filter: {}, write })).toEqual({ exported: 3, pruned: 3 });
  expect(done).toEqual(['read 1', 'written true', 'read 2', 'written true', 'read 3', 'written true']);
});

test.each([
  ['', true],
  ['{"v":1,"body":"{}","received_at":"2026-01-01T00:00:00Z","webhook_id":"w"}\n', true],
  ['\n{"event":"media_available"}\n', true],
  ['{"cursor":"1-1"}\n', true],
  ['{\n  "name": "an-app"\n}\n', false],
  ['{"name":"an-app","dependencies":{"cursor":"1.0.0"}}', false],
  ['{"log":{"entries":[]}}', false],
  ['SQLite format 3\0', false],
])('a file is replaced, or refused and left as it is, when it has %j: %j', async (text, isReplaced) => {
  const file = join(await temporaryDirectory(), 'file');
  writeFileSync(file, text);
  const written = writeWholeFile(file, (write) => write('{"new":1}\n'));
  if (isReplaced) await written;
  else await expect(written).rejects.toThrow('is there, and is no recording: name another file');
  expect(readFileSync(file, 'utf8')).toBe(isReplaced ? '{"new":1}\n' : text);
});
