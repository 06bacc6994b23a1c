import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Happening, matrix } from 'webhook-receiver-kit/testing';
import { app } from './handlers.ts';

const happened: Happening[] = [
  ['channel_active', { channel_id: 'Ny05CEfj' }],
  ['channel_idle', { channel_id: 'Ny05CEfj' }],
  ['channel_active', { channel_id: 'other' }],
];

test('the board is right in the end, in whatever order notifications come', async () => {
  await matrix(
    happened,
    async (start) => void (await start({ app })),
    async (kit) => {
      const { on_air } = JSON.parse((await kit.page('/app/board.json')).body);
      assert.deepEqual(
        on_air.map(({ channel_id }: { channel_id: string }) => channel_id),
        ['other'],
      );
    },
    { most: 20, random: 5 },
  );
});
