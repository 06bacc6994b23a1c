import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Happening, matrix } from 'webhook-receiver-kit/testing';
import { oncePerMedia } from './once-per-media.ts';

/** Sends each e-mail once for its key, as mail services do. */
class FakeMail {
  readonly sent = new Set<string>();
}

const M = { media_id: 'UUhbHm6C' };
const happened: Happening[] = [
  ['media_available', M],
  ['media_reuploaded', M],
  ['media_available', M],
];

test('an e-mail goes out once for each upload, in whatever order notifications come', async () => {
  await matrix(
    happened,
    async (start) => {
      const mail = new FakeMail();
      const handlers = oncePerMedia({
        name: 'mail',
        async act({ idempotencyKey }) {
          mail.sent.add(idempotencyKey);
        },
      });
      await start({ handlers });
      return mail;
    },
    (_kit, mail) => assert.deepEqual([...mail.sent].toSorted(), ['mail UUhbHm6C 0', 'mail UUhbHm6C 1']),
    { most: 20, random: 5 },
  );
});
