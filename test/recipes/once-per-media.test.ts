import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { combineHandlers, type HandlerContext } from '../../src/index.ts';
import { oncePerMedia } from '../../src/recipes/once-per-media.ts';
import {
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { size } from '../support/sizes.ts';

const M = { media_id: 'UUhbHm6C' };
const HISTORIES = { random: size({ small: 6, full: 1000 }), most: size({ small: 24, full: 1000 }) };

/** Sends each e-mail once for its key, as mail services do. */
class FakeMail {
  readonly sent = new Map<string, number>();

  async send(key: string, upload: number): Promise<void> {
    this.sent.set(key, upload);
  }
}

const mailing = (mail: FakeMail) =>
  oncePerMedia({ name: 'mail', act: ({ idempotencyKey, upload }) => mail.send(idempotencyKey, upload) });

function uploads(happened: readonly Happening[]): Scenario<FakeMail> {
  return async (start) => {
    const mail = new FakeMail();
    const kit = await start({ handlers: mailing(mail) });
    for (const [kind, members] of happened)
      await kit.deliver<'media_created'>(kind as 'media_created', members);
    return mail;
  };
}

const twice: Happening[] = [
  ['media_available', M],
  ['media_reuploaded', M],
  ['media_available', M],
];
const mailedTwice = (_kit: unknown, mail: FakeMail) =>
  assert.deepEqual(Object.fromEntries(mail.sent), { 'mail UUhbHm6C 0': 0, 'mail UUhbHm6C 1': 1 });

test('an e-mail goes out once for an upload, however many notifications of it come', async () => {
  const mail = new FakeMail();
  await using kit = await testReceiver({ handlers: mailing(mail) });
  for (let time = 0; time < 3; time++) await kit.deliver('media_available', M);
  await kit.deliver('media_available', { media_id: 'another' });
  await kit.settled();
  expect([...mail.sent.keys()]).toEqual(['mail UUhbHm6C 0', 'mail another 0']);
  expect((await kit.events()).map(({ status }) => status)).toEqual([
    'handled',
    'skipped',
    'skipped',
    'handled',
  ]);
});

test('it goes out again after a reupload, wherever the process dies', async () => {
  await everyCrash(uploads(twice), mailedTwice);
});

test('it goes out for each upload, in whatever order notifications come', async () => {
  await matrix(twice, uploads([]), mailedTwice, HISTORIES);
});

test.each<{ readonly kinds: readonly ('media_available' | 'media_reuploaded')[] }>([
  { kinds: ['media_available', 'media_reuploaded', 'media_reuploaded', 'media_available'] },
  { kinds: ['media_available', 'media_available', 'media_reuploaded', 'media_available'] },
])(
  'it goes out once for each upload that became available, when $kinds come in any order',
  async ({ kinds }) => {
    const happened = kinds.map((kind): Happening => [kind, M]);
    await matrix(happened, uploads([]), mailedTwice, { ...HISTORIES, most: size({ small: 48, full: 1000 }) }); // 24 orders, twice
  },
);

test('it does not go out again under another key, when a reupload comes late between two that are known', async () => {
  const mail = new FakeMail();
  await using kit = await testReceiver({ handlers: mailing(mail) });
  for (const [kind, second] of [
    ['media_available', 1],
    ['media_reuploaded', 4],
    ['media_available', 5],
    ['media_reuploaded', 2],
  ] as const) {
    await kit.deliver(kind, { ...M, event_time: `2026-01-01T00:00:0${second}+00:00` });
    await kit.settled();
  }
  expect([...mail.sent.keys()]).toEqual(['mail UUhbHm6C 0', 'mail UUhbHm6C 1']);
});

test('it keeps its key, when a reupload before it comes between two attempts', async () => {
  const keys: string[] = [];
  const handlers = oncePerMedia({
    name: 'mail',
    async act({ idempotencyKey }) {
      if (keys.push(idempotencyKey) < 3) throw new Error('the answer of the mail service was lost');
    },
  });
  await using kit = await testReceiver({ handlers });
  await kit.deliver('media_available', { ...M, event_time: '2026-01-01T00:00:09+00:00' });
  await kit.handled();
  await kit.deliver('media_reuploaded', { ...M, event_time: '2026-01-01T00:00:05+00:00' });
  await kit.settled();
  expect(keys).toEqual(['mail UUhbHm6C 0', 'mail UUhbHm6C 0', 'mail UUhbHm6C 0']);
});

/** Learns the same time again, as at a replay: the site makes it another event. */
const again = (kit: TestReceiver, second: number, site_id: string) =>
  kit.deliver('media_reuploaded', { ...M, site_id, event_time: `2026-01-01T00:00:0${second}+00:00` });

test('it does not go out again, when a reupload that is known comes again, as at a replay', async () => {
  const mail = new FakeMail();
  await using kit = await testReceiver({ handlers: mailing(mail) });
  await kit.deliver('media_available', { ...M, event_time: '2026-01-01T00:00:01+00:00' });
  await again(kit, 2, 'first');
  await kit.deliver('media_available', { ...M, event_time: '2026-01-01T00:00:03+00:00' });
  await kit.settled();
  const { mail: known } = await kit.state('media:UUhbHm6C');
  for (const site of ['second', 'third']) await again(kit, 2, site);
  await kit.settled();
  expect(mail.sent.size).toBe(2);
  expect(await kit.state('media:UUhbHm6C')).toEqual({ mail: known });
});

test('it goes on from the state of the first version, with reuploads in it that were counted several times', async () => {
  const mail = new FakeMail();
  const at = (second: number) => Date.UTC(2026, 0, 1, 0, 0, second);
  const former = { available: [at(1), at(3)], reuploads: [at(2), at(2), at(2)], done: [0, 1, 2, 3] };
  const leaving = {
    media_created: (_event: unknown, { state }: HandlerContext) => state.set('mail', former),
  };
  await using kit = await testReceiver({ handlers: combineHandlers(mailing(mail), leaving) });
  await kit.deliver('media_created', M);
  await kit.settled();
  await again(kit, 2, 'another');
  await kit.settled();
  expect([...mail.sent.keys()]).toEqual([]);
  await again(kit, 5, 'another');
  await kit.deliver('media_available', { ...M, event_time: '2026-01-01T00:00:06+00:00' });
  await kit.settled();
  expect([...mail.sent.keys()]).toEqual(['mail UUhbHm6C 4']);
});

test('it is tried again, when it cannot be sent', async () => {
  let tries = 0;
  const handlers = oncePerMedia({
    name: 'mail',
    async act() {
      if (++tries < 4) throw new Error('the mail service is down');
    },
  });
  await using kit = await testReceiver({ handlers });
  await kit.deliver('media_available', M);
  await kit.settled();
  expect(tries).toBe(4);
  expect(await kit.event()).toMatchObject({ status: 'handled', attempts: 4 });
});
