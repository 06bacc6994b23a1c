import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contentOf, tagged } from '../../../src/store/threads/protocol.ts';
import { bodyOf, deliver, SECRET } from '../../support/notifications.ts';
import { startProcess } from '../../support/service-process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const thread = new URL('../../../src/store/sqlite/store-thread.ts', import.meta.url);

test('a message has content, when it is one of ours, and none, when another sender has posted it', () => {
  fc.assert(
    fc.property(fc.anything(), (message) => {
      expect(contentOf(message)).toBeUndefined();
      expect(contentOf(tagged(message))).toBe(message);
    }),
  );
});

test('a store thread answers what is ours, when others post to it too, and passes their messages over', async () => {
  const directory = await temporaryDirectory();
  const workerData = { path: join(directory, 'receiver.db'), mode: 'write' };
  const worker = new Worker(thread, { workerData });
  try {
    const [opened] = await once(worker, 'message');
    expect(contentOf(opened)).toEqual({ opened: true });
    for (const foreign of [{ 'watch:import': ['file:///a.ts'] }, 'close', null, [], 7]) {
      worker.postMessage(foreign);
    }
    worker.postMessage(tagged([{ name: 'ping', input: undefined }]));
    const [answers] = await once(worker, 'message');
    expect(contentOf(answers)).toEqual([expect.objectContaining({ output: undefined })]);
    const exited = once(worker, 'exit');
    worker.postMessage(tagged('close'));
    expect(await exited).toEqual([0]);
  } finally {
    await worker.terminate();
    rmSync(directory, { recursive: true });
  }
});

test('a service records, when Node posts from its threads which modules they load, as under node --watch', async () => {
  const directory = await temporaryDirectory();
  const env = {
    DATABASE_URL: `sqlite:${join(directory, 'receiver.db')}`,
    WEBHOOK_SECRET: SECRET,
    WATCH_REPORT_DEPENDENCIES: '1',
  };
  const service = await startProcess(env);
  expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
  service.child.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  rmSync(directory, { recursive: true });
});
