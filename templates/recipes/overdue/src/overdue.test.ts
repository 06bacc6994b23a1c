import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyCrash, type TestReceiver, testReceiver } from 'webhook-receiver-kit/testing';
import { app } from './handlers.ts';

const media = { media_id: 'UUhbHm6C' };
const told = (kit: TestReceiver) => kit.log().filter(({ msg }) => String(msg).includes('not available'));

test('a media is told of once its time is over', async () => {
  await using kit = await testReceiver({ app });
  await kit.deliver('media_created', media);
  await kit.handled();
  await kit.advance('29m');
  assert.equal(told(kit).length, 0);
  await kit.advance('2m');
  assert.equal(told(kit).length, 1);
});

test('a media that is deleted in time is not told of, wherever the process dies', async () => {
  await everyCrash(
    async (start) => {
      const kit = await start({ app });
      await kit.deliver('media_created', media);
      await kit.deliver('media_deleted', media);
    },
    async (kit) => {
      await kit.advance('2h');
      assert.equal(told(kit).length, 0);
    },
  );
});
