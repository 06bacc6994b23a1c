import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Feed } from '../../../src/inspector/watch/feed.ts';
import { notification } from '../../support/genuine.ts';
import { inspectedForEachTest } from '../../support/inspected-service.ts';

const start = inspectedForEachTest();

test('the stream tells what happened to an event, when one comes in and is handled', async () => {
  const inspected = await start({ media_available() {} });
  const abort = new AbortController();
  const answer = await fetch(`${inspected.url}/api/stream`, { signal: abort.signal });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const { id } = (await (await inspected.deliver(notification())).json()) as { id: string };
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('"handled"')) break;
  }
  abort.abort();
  expect(text).toContain('event: changes\n');
  expect(text).toContain(`{"id":"${id}","change":"accepted","kind":"media_available"}`);
  expect(text).toContain(`{"id":"${id}","change":"handled","kind":"media_available"}`);
});

test('the service stops at once, when a client still listens to the stream', async () => {
  const inspected = await start();
  const answer = await fetch(`${inspected.url}/api/stream`);
  await inspected.service.stop();
  await expect(answer.text()).rejects.toThrow();
});

test('a feed gathers what happens, when thousands do within a moment, into one message of bounded length', async () => {
  const clock = new VirtualClock();
  const feed = new Feed(clock);
  const heard: unknown[] = [];
  feed.changed('before', 'accepted', 'media_available');
  const end = feed.listen((changes) => heard.push(changes));
  for (let n = 0; n < 5000; n++) feed.changed(`e${n}`, 'accepted', 'media_available');
  feed.rejected();
  expect(heard).toEqual([]);
  await clock.advance(250);
  expect(heard).toMatchObject([{ more: 4950, rejections: 1 }]);
  await clock.advance(250);
  expect(heard).toHaveLength(1);
  end();
  feed.changed('after', 'accepted', 'media_available');
  await clock.advance(250);
  expect(heard).toHaveLength(1);
});
