import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyCrash, type Happening, matrix, type TestReceiver } from 'webhook-receiver-kit/testing';
import { app } from './handlers.ts';

const happened: Happening[] = [
  ['channel_active', { channel_id: 'Ny05CEfj' }],
  ['channel_idle', { channel_id: 'Ny05CEfj' }],
  ['channel_active', { channel_id: 'other' }],
];

async function isRight(kit: TestReceiver): Promise<void> {
  const { on_air } = JSON.parse((await kit.page('/app/board.json')).body);
  assert.deepEqual(
    on_air.map(({ channel_id, since }: { channel_id: string; since: string }) => [channel_id, since]),
    [['other', '2026-01-01T00:00:02+00:00']],
  );
}

test('the board is right in the end, in whatever order notifications come', async () => {
  await matrix(happened, async (start) => void (await start({ app })), isRight, { most: 20, random: 5 });
});

test('the board is right, wherever the process dies', async () => {
  await everyCrash(async (start) => {
    const kit = await start({ app });
    for (const [index, [kind, members]] of happened.entries()) {
      const event_time = `2026-01-01T00:00:0${index}+00:00`;
      await kit.deliver<'channel_active'>(kind as 'channel_active', { ...members, event_time });
    }
  }, isRight);
});
