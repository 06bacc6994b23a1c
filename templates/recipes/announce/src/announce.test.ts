import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyCrash, type TestReceiver, testReceiver } from 'webhook-receiver-kit/testing';
import { announce } from './announce.ts';

const FAR = new Date(Date.UTC(2026, 11, 24));
const LEAD_MS = 6 * 60_000;

/** How long from now each scheduled status is out, in milliseconds. */
async function ahead(kit: TestReceiver): Promise<number[]> {
  const { statuses } = await kit.statuses.page();
  return statuses.map(({ scheduled_at }) => Date.parse(scheduled_at ?? '') - kit.now());
}

test('the status about a media comes forward, when the media becomes available', async () => {
  await using kit: TestReceiver = await testReceiver({ handlers: announce() });
  await kit.statuses.schedule({ status: 'Out now: UUhbHm6C!' }, FAR);
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  await kit.settled();
  const [first = 0] = await ahead(kit);
  assert.ok(Math.abs(first - LEAD_MS) < 1000, `it is ${first} ms ahead`);
});

test('the status about a media is cancelled, when the media is deleted, wherever the process dies', async () => {
  await everyCrash(
    async (start) => {
      const kit = await start({ handlers: announce() });
      await kit.statuses.schedule({ status: 'Out now: UUhbHm6C!' }, FAR);
      await kit.deliver('media_deleted', { media_id: 'UUhbHm6C' });
    },
    async (kit) => assert.deepEqual(await ahead(kit), []),
  );
});
