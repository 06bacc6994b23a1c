import { expect, test } from '@jest/globals';
import { exportRecording } from '../../src/replay/export-recording.ts';

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
  const store = { received, lastSeq: async () => 6 } as never;
  const write = async (lines: string) => void done.push(`written ${lines.length > 0}`);
  expect(await exportRecording(store, { filter: {}, write })).toEqual({ exported: 3, pruned: 3 });
  expect(done).toEqual(['read 1', 'written true', 'read 2', 'written true', 'read 3', 'written true']);
});
