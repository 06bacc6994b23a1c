import { expect, test } from '@jest/globals';
import { notification } from '../support/genuine.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { verified } from '../support/verified-notification.ts';

const start = inspectedForEachTest();

test('the stream tells that something changed and what there is, when this or another process records, handles or refuses', async () => {
  const inspected = await start({ media_available() {} });
  const answer = await fetch(`${inspected.url}/api/stream`);
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  /** What comes, up to a message. */
  const message = async () => {
    for (let text = ''; ; ) {
      text += (await reader?.read())?.value ?? '';
      if (text.endsWith('\n\n') && text.includes('event: changes')) return text;
    }
  };
  await inspected.raw('/api/events'); // the first look is over by then
  await inspected.deliver(notification());
  expect(await message()).toMatch(/\{"pending":\d,"running":\d,"dead":0,"quarantined":0\}\n\n$/);
  await inspected.settled();
  const other = await start({}, inspected.env);
  await other.service.store.record(verified({ media_id: 'elsewhere', webhook_id: 'another' }));
  await message();
  await inspected.deliver(notification({ media_id: 'forged' }), 'another-secret');
  await message();
  await reader?.cancel();
});

test('the service stops at once, when a client still listens to the stream', async () => {
  const inspected = await start();
  const answer = await fetch(`${inspected.url}/api/stream`);
  await inspected.service.stop();
  await expect(answer.text()).rejects.toThrow();
});
