import { claims, DEAD, HANDLED, SKIPPED, settleAll, waiting } from './claiming.ts';
import type { CurrentFixture } from './store-fixture.ts';
import { EVENT_TIME, verified } from './verified-notification.ts';

/** Events of several kinds, sites and resources in every state. */
export async function fill(fixture: CurrentFixture): Promise<void> {
  const { store } = fixture();
  const kinds = ['media_available', 'media_updated', 'media_deleted'];
  const states = [HANDLED, SKIPPED, DEAD, waiting(60_000)];
  for (let n = 0; n < 24; n++) {
    const members = { event: kinds[n % 3], media_id: `media-${n % 4}`, site_id: `site-${n % 2}` };
    await store.record(verified({ ...members, at: EVENT_TIME + Math.floor(n / 3) * 1000 }));
    const state = states[n % 5];
    if (state) await settleAll(store, state);
  }
  await store.record(verified({ media_id: 'media-1', at: EVENT_TIME + 99_000 }));
  await claims(store, { owner: 'somebody', limit: 1 });
  await store.record(verified({ media_id: 'media-2', at: EVENT_TIME + 99_000 }));
}
