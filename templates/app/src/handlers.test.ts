import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyCrash, type TestReceiver, testReceiver } from 'webhook-receiver-kit/testing';
import { handlers } from './handlers.ts';

const ANNOUNCING = 'media can be published: announcing it';
const announced = (kit: TestReceiver) => kit.log().filter(({ msg }) => msg === ANNOUNCING).length;

test('a media that becomes available is announced once, though its handler runs twice', async () => {
  await using kit = await testReceiver({ handlers });
  kit.failNext();
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  await kit.settled();
  const { status, attempts } = await kit.event();
  assert.deepEqual({ status, attempts }, { status: 'handled', attempts: 2 });
  assert.equal(announced(kit), 1);
});

test('a media that becomes available is handled, wherever the process dies', async () => {
  await everyCrash(
    async (start) => {
      const kit = await start({ handlers });
      await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
    },
    async (kit) => assert.equal((await kit.event()).status, 'handled'),
  );
});
