import assert from 'node:assert/strict';
import { expect, test } from '@jest/globals';
import { oncePerMedia } from '../../src/recipes/once-per-media.ts';
import { everyCrash, type Happening, matrix, type Scenario, testReceiver } from '../../src/testing/index.ts';
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
