import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Happening, matrix, type TestReceiver, testReceiver } from 'webhook-receiver-kit/testing';
import { app } from './handlers.ts';

const told = (kit: TestReceiver) => kit.log().filter(({ msg }) => String(msg).includes('not available'));

test('a media is told of, when it is late', async () => {
  await using kit = await testReceiver({ app });
  await kit.deliver('media_created', { media_id: 'UUhbHm6C' });
  await kit.handled();
  await kit.advance('29m');
  assert.equal(told(kit).length, 0);
  await kit.advance('2m');
  await kit.settled();
  assert.equal(told(kit).length, 1);
});

test('a media is not told of, when it is deleted in time, in whatever order notifications come', async () => {
  const media = { media_id: 'UUhbHm6C' };
  const happened: Happening[] = [['media_created', media], ['media_deleted', media]];
  await matrix(
    happened,
    async (start) => void (await start({ app })),
    async (kit) => {
      await kit.advance('2h');
      await kit.settled();
      assert.equal(told(kit).length, 0);
    },
    { most: 20, random: 0 },
  );
});
