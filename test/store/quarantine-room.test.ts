import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MemoryDatabase } from '../../src/store/memory/database.ts';
import { tokenDigest } from '../../src/store/quarantine-keys.ts';
import { quarantine } from '../../src/store/semantics/quarantine.ts';
import { bytesOf } from '../../src/store/semantics/quarantine-room.ts';
import { givesWay } from '../support/shares-by-list.ts';
import { runs } from '../support/sizes.ts';
import { verified } from '../support/verified-notification.ts';

const ROOM = 30_000;

/** All of these are equally long, and so are entries of one length. */
const oneOf = fc.oneof(fc.integer({ min: 10, max: 12 }), fc.integer({ min: 20, max: 99 }));

const arrival = fc
  .record({
    number: fc.integer({ min: 1000, max: 9999 }),
    network: oneOf,
    webhook: oneOf,
    length: fc.constantFrom(20, 20, 900, 5000),
  })
  .map(({ number, network, webhook, length }) => ({
    ...verified({ media_id: `media-${number}`, webhook_id: `hook-${webhook}` }),
    token: `${number} ${network} ${webhook}`.padEnd(length),
    source: `10.0.${network}.1`,
    network: `10.0.${network}.0/24`,
  }));

test('what gives way is what a look at all entries says, when anything comes', async () => {
  const distinct = fc.uniqueArray(arrival, { selector: ({ token }) => token, maxLength: 150, size: 'max' });
  const property = fc.asyncProperty(distinct, async (arrivals) => {
    const { tables, rows } = new MemoryDatabase();
    let expected: ((typeof arrivals)[number] & { readonly bytes: number })[] = [];
    for (const { network, ...entry } of arrivals) {
      const key = tokenDigest(entry.token).toString('hex');
      await quarantine(tables, { entry: { ...entry, receivedAt: 0 }, key, maxBytes: ROOM });
      const arriving = { ...entry, network, bytes: bytesOf(entry) };
      expected = roomMade([...expected, arriving], arriving);
      const kept = rows.quarantine.all().map(({ token }) => token);
      expect(kept.toSorted()).toEqual(expected.map(({ token }) => token).toSorted());
    }
  });
  await fc.assert(property, { numRuns: runs(100) });
});

type Sized = Parameters<typeof givesWay>[0][number];

/** The entries that are left of these, the last of which arrives. */
function roomMade<E extends Sized>(entries: readonly E[], arriving: E): E[] {
  const left = [...entries];
  while (left.reduce((sum, { bytes }) => sum + bytes, 0) > ROOM) {
    const share = givesWay(left, left.includes(arriving) ? arriving : undefined);
    const index = left.findLastIndex(
      ({ webhookId, network }) => webhookId === share?.webhookId && network === share.network,
    );
    left.splice(index, 1);
  }
  return left;
}
