import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { writeWholeFile } from '../../src/replay/export-recording.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test.each([
  ['{"v":1,"body":"{}","received_at":"2026-01-01T00:00:00Z","webhook_id":"w"}\n', true],
  ['\n{"event":"media_available"}\n', true],
  ['{"cursor":"1-1"}\n', true],
  ['{\n  "name": "an-app"\n}\n', false],
  ['SQLite format 3\0', false],
])('a file is replaced, or refused and left as it is, when it has %j: %j', async (text, isReplaced) => {
  const file = join(await temporaryDirectory(), 'file');
  writeFileSync(file, text);
  const written = writeWholeFile(file, (write) => write('{"new":1}\n'));
  if (isReplaced) await written;
  else await expect(written).rejects.toThrow('is there, and is no recording: name another file');
  expect(readFileSync(file, 'utf8')).toBe(isReplaced ? '{"new":1}\n' : text);
});
