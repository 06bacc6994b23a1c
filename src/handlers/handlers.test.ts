import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyCrash, matrix, testReceiver } from '../testing/index.ts';
import { handlers } from './index.ts';

// Yours to replace, as the handlers are. `npm run test:handlers` runs every *.test.ts in this folder; docs/testing.md has more.

test('a media that becomes available is announced once, however often its handler runs', async () => {
  await using kit = await testReceiver({ handlers });
  kit.failNext();
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  await kit.settled();
  const { status, attempts } = await kit.event();
  assert.deepEqual({ status, attempts }, { status: 'handled', attempts: 2 });
  assert.equal(kit.log().filter(({ msg }) => msg === 'media can be published: announcing it').length, 1);
});

test('a live broadcast is handled to its end, wherever the process dies', async () => {
  await everyCrash(
    async (start) => {
      const kit = await start({ handlers });
      const { channel_id } = kit.provider.createChannel({ site_id: kit.site });
      kit.provider.activateChannel(channel_id);
      kit.provider.idleChannel(channel_id);
    },
    async (kit) => {
      const ends = (await kit.events()).map(({ kind, status }) => `${kind} ${status}`);
      assert.deepEqual(ends.toSorted(), [
        'channel_active handled',
        'channel_created handled',
        'channel_idle handled',
      ]);
    },
  );
});

test('a channel ends as what it was last, in whatever order its notifications come', async () => {
  await matrix(
    [
      ['channel_active', { channel_id: 'Ny05CEfj' }],
      ['channel_idle', { channel_id: 'Ny05CEfj' }],
    ],
    async (start) => void (await start({ handlers })),
    (kit) => {
      const shown = kit.log().filter(({ msg }) => /^the channel is /.test(String(msg)));
      assert.equal(shown.at(-1)?.state, 'idle');
    },
  );
});
