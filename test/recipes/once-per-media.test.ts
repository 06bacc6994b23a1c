import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { oncePerMedia } from '../../src/recipes/once-per-media.ts';
import { everyCrash, type Happening, matrix, type Scenario, testReceiver } from '../../src/testing/index.ts';
import { size } from '../support/sizes.ts';

const M = { media_id: 'UUhbHm6C' };
const HISTORIES = { random: size({ small: 4, full: 1000 }), most: size({ small: 12, full: 1000 }) };
const at = (second: number) => `2026-01-01T00:00:0${second}+00:00`;

/** Sends each e-mail once for its key, as mail services do; the first calls fail. */
function mailing(failures = 0) {
  const sent = new Map<string, number>();
  const keys: string[] = [];
  const handlers = oncePerMedia({
    name: 'mail',
    async act({ idempotencyKey, upload }) {
      if (keys.push(idempotencyKey) <= failures) throw new Error('the answer of the mail service was lost');
      sent.set(idempotencyKey, upload);
    },
  });
  return { sent, keys, handlers };
}

function uploads(happened: readonly Happening[]): Scenario<ReturnType<typeof mailing>> {
  return async (start) => {
    const mail = mailing();
    const kit = await start(mail);
    for (const [kind, members] of happened)
      await kit.deliver<'media_created'>(kind as 'media_created', members);
    return mail;
  };
}

const mailedTwice = (_kit: unknown, { sent }: ReturnType<typeof mailing>) =>
  assert.deepEqual(Object.fromEntries(sent), { 'mail UUhbHm6C 0': 0, 'mail UUhbHm6C 1': 1 });

test.each<{ readonly kinds: readonly ('media_available' | 'media_reuploaded')[] }>([
  { kinds: ['media_available', 'media_reuploaded', 'media_available'] },
  { kinds: ['media_available', 'media_available', 'media_reuploaded', 'media_available'] },
])(
  'it goes out once for each upload, when $kinds come in any order or the process dies',
  async ({ kinds }) => {
    const happened = kinds.map((kind): Happening => [kind, M]);
    await matrix(happened, uploads([]), mailedTwice, HISTORIES);
    if (kinds.length === 3) await everyCrash(uploads(happened), mailedTwice);
  },
);

test('it goes out again neither after a late reupload between two that are known, nor after a known one', async () => {
  const mail = mailing();
  await using kit = await testReceiver(mail);
  const deliver = async (kind: 'media_available' | 'media_reuploaded', second: number, site_id = 'first') => {
    await kit.deliver(kind, { ...M, site_id, event_time: at(second) });
    await kit.settled();
  };
  await deliver('media_available', 1);
  await deliver('media_reuploaded', 4);
  await deliver('media_available', 5);
  await deliver('media_reuploaded', 2);
  const known = await kit.state('media:UUhbHm6C');
  // As at a replay: the site makes it another event.
  for (const site of ['second', 'third']) await deliver('media_reuploaded', 2, site);
  expect([...mail.sent.keys()]).toEqual(['mail UUhbHm6C 0', 'mail UUhbHm6C 1']);
  expect(await kit.state('media:UUhbHm6C')).toEqual(known);
});

test('it is tried again with the same key, when it fails, also if a reupload before it comes between two attempts', async () => {
  const mail = mailing(2);
  await using kit = await testReceiver(mail);
  await kit.deliver('media_available', { ...M, event_time: at(9) });
  await kit.handled();
  await kit.deliver('media_reuploaded', { ...M, event_time: at(5) });
  await kit.settled();
  expect(mail.keys).toEqual(['mail UUhbHm6C 0', 'mail UUhbHm6C 0', 'mail UUhbHm6C 0']);
});
