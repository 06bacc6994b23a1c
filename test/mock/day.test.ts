import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { Random } from '../../src/mock/random.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { size } from '../support/sizes.ts';
import { type Receiver, startReceiver } from './support/receiver.ts';
import { SITE } from './support/stage.ts';

const MEDIA = size({ small: 100, full: 10_000 });
const DAY_MS = 86_400_000;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());

/** A day's uploads and what is done to some of them, over HTTP to a receiver that now and then fails. */
async function day(seed: number) {
  const options = {
    port: 0,
    clock: new VirtualClock(),
    seed,
    processingMs: 60_000,
  };
  const mock = await MockProvider.start(options);
  receiver.received.length = 0;
  receiver.answer = (number) => ({ status: number % 97 === 0 ? 503 : 200 });
  mock.createWebhook({ name: 'day', webhook_url: receiver.url, events: kindNames, site_ids: [SITE] });
  mock.setFaults({ duplicate: 0.02, reorder: 0.02, delay: 0.02, drop: 0.02, tamper: 0.01, forge: 0.01 });
  const { channel_id } = mock.createChannel({ site_id: SITE });
  const luck = new Random(seed);
  for (let i = 0; i < MEDIA; i++) {
    const { media_id } = mock.createMedia({ site_id: SITE });
    if (luck.chance(0.05)) mock.updateMedia(media_id);
    if (luck.chance(0.05)) mock.createTrack(media_id);
    if (luck.chance(0.02)) mock.reuploadMedia(media_id);
    if (luck.chance(0.02)) mock.deleteMedia(media_id);
    if (luck.chance(0.5)) mock.activateChannel(channel_id);
    else mock.idleChannel(channel_id);
    await mock.advance(DAY_MS / MEDIA);
  }
  await mock.advance(DAY_MS);
  const log = mock.deliveries();
  const received = receiver.received.map(({ text, token }) => text + token);
  await mock.close();
  const pending = log.filter(({ state }) => state === 'pending').length;
  const digest = createHash('sha256')
    .update(JSON.stringify([log, received]))
    .digest('hex');
  return { deliveries: Number(log.at(-1)?.id), pending, digest };
}

test('a day of traffic with faults comes to its end, when the clock is virtual, and twice the same to the byte', async () => {
  const first = await day(7);
  expect(first.deliveries).toBeGreaterThan(4 * MEDIA);
  expect(first.pending).toBe(0);
  expect(await day(7)).toEqual(first);
}, 180_000);
