import type { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { claims, DEAD, doSteps, HANDLED, RELEASED, SKIPPED, settleAll, waiting } from './claiming.ts';
import { EVENT_TIME, verified, verifiedBody } from './verified-notification.ts';

/** Longer than an index of PostgreSQL takes it, and with characters that PostgreSQL takes in no text. */
const ODD_KIND = `odd \0\u0001 ${'kind '.repeat(200)}`;
const HOUR_MS = 3_600_000;

/**
 * Leaves rows of every kind in a store: events in every state, repeats, attempts, steps, state, channels, tallies, secrets live and
 * retired, a quarantine that had more than it has, and at last an event that
 * runs, one that waits, one that is replayed and one that is not taken into work.
 */
export async function fillEveryTable(store: EventStore, clock: VirtualClock): Promise<void> {
  await store.addSecret('webhook-1', 'the secret of webhook-1');
  await store.addSecret('webhook-2', 'the secret of webhook-2');
  await store.retireSecret('webhook-2', 'the secret of webhook-2', clock.now());
  const record = async (media: string, second: number, members = {}) => {
    const event = verified({ media_id: media, at: EVENT_TIME + second * 1000, ...members });
    return (await store.record(event)).id;
  };
  await record('old', 1);
  await record('old', 2, { event: 'media_updated' });
  await settleAll(store, HANDLED);
  await clock.advance(HOUR_MS);
  await store.prune(clock.now(), 1); // one of the two
  const stepped = await record('steps', 3);
  await doSteps(store, stepped, { sent: '{"to":["\u0000"]}', nothing: null });
  await settleAll(store, {
    ...HANDLED,
    state: [
      { name: 'count', value: '1' },
      { name: '\u0001', value: '"\\u0000"' },
    ],
  });
  await record('dead', 4);
  await settleAll(store, DEAD);
  await record('skipped', 5);
  await settleAll(store, SKIPPED);
  await record('released', 6);
  await settleOnce(store, RELEASED);
  await settleAll(store, HANDLED);
  for (const state of ['active', 'idle', 'active'])
    await store.record(
      verifiedBody({
        event: `channel_${state}`,
        webhook_id: 'webhook-1',
        site_id: 'site-1',
        channel_id: 'channel1',
        event_time: new Date(clock.now()).toISOString(),
      }),
    );
  await record('odd', 7, { event: ODD_KIND, text: '\0\u0001\u{10ffff}' });
  await settleAll(store, HANDLED);
  await record('steps', 3); // a repeat
  await record('waiting', 8);
  await settleOnce(store, waiting(HOUR_MS));
  await record('running', 9);
  await claims(store, { owner: 'receiver-2/killed' });
  await record('running', 10);
  await store.replay({ ids: [stepped] });
  await fillQuarantine(store);
  await record('untaken', 11);
}

async function settleOnce(store: EventStore, settlement: Parameters<EventStore['settle']>[2]): Promise<void> {
  const owner = 'receiver-1/1';
  for (const claim of await claims(store, { owner })) await store.settle(claim, owner, settlement);
}

async function fillQuarantine(store: EventStore): Promise<void> {
  const entry = (number: number) => ({
    ...verified({ media_id: `quarantined-${number}`, webhook_id: `webhook-${number % 2}` }),
    token: `token-${number}`,
    source: `198.51.${number}.1`,
  });
  for (const number of [1, 2, 3, 3, 4]) await store.quarantine(entry(number), 1_000_000);
  await store.admit(entry(4).token); // its number is not given out again
  await store.quarantine(entry(5), 3000); // and others give way
}
