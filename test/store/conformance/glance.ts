import { describe, expect, test } from '@jest/globals';
import { claims, DEAD, doSteps, HANDLED, SKIPPED, settleAll, waiting } from '../../support/claiming.ts';
import { fill } from '../../support/filled-store.ts';
import { only, present } from '../../support/only.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const FAR = 10_000;

/** What somebody sees at a glance: counts, neighbours, channels, quarantine, steps. */
export function describeGlance(fixture: CurrentFixture): void {
  describe('overview', () => {
    test('counts by kind and status, when events come, move and are replayed, as count() does', async () => {
      const { store } = fixture();
      await fill(fixture);
      await store.replay({ kind: 'media_deleted' });
      const { tallies } = await store.overview();
      expect(tallies.length).toBeGreaterThan(4);
      for (const { kind, status, events } of tallies) {
        expect({ kind, status, events }).toEqual({
          kind,
          status,
          events: await store.count({ kind, status }),
        });
      }
      const total = tallies.reduce((sum, { events }) => sum + events, 0);
      expect(total).toBe(await store.count({}));
    });

    test('names the hundred kinds with most events, and sums up the others, when somebody sends very many', async () => {
      const { store } = fixture();
      const record = (kind: string, media_id: string) => store.record(verified({ event: kind, media_id }));
      const kinds = Array.from({ length: 130 }, (_, number) => `kind_${String(number).padStart(3, '0')}`);
      await Promise.all(kinds.map((kind) => record(kind, 'one')));
      for (const media of ['two', 'three'])
        await Promise.all(kinds.slice(30).map((kind) => record(kind, media)));
      await settleAll(store, SKIPPED);
      await record('kind_000', 'four');
      const { tallies } = await store.overview();
      expect(tallies.slice(0, 100)).toEqual(
        kinds.slice(30).map((kind) => ({ kind, status: 'skipped', events: 3 })),
      );
      expect(tallies.slice(100).toSorted((one, other) => one.events - other.events)).toEqual([
        { kind: '(other kinds)', status: 'pending', events: 1 },
        { kind: '(other kinds)', status: 'skipped', events: 30 },
      ]);
      expect(await store.count({ kind: 'kind_000' })).toBe(2);
    });

    test('does not count a repeat, when an event is delivered again', async () => {
      const { store } = fixture();
      await store.record(verified());
      await store.record(verified());
      expect((await store.overview()).tallies).toEqual([
        { kind: 'media_available', status: 'pending', events: 1 },
      ]);
    });

    test('tells since when the oldest waits, pending, running or put off, until it is handled', async () => {
      const { store, clock } = fixture();
      expect((await store.overview()).oldestPendingAt).toBeUndefined();
      const first = clock.now();
      await store.record(verified());
      await clock.advance(1000);
      await store.record(verified({ media_id: 'younger' }));
      expect((await store.overview()).oldestPendingAt).toBe(first);
      const running = await claims(store, { owner: 'me' });
      expect((await store.overview()).oldestPendingAt).toBe(first);
      for (const claim of running) await store.settle(claim, 'me', waiting(5000));
      expect((await store.overview()).oldestPendingAt).toBe(first);
      await clock.advance(5000);
      await settleAll(store, HANDLED);
      expect((await store.overview()).oldestPendingAt).toBeUndefined();
    });

    test('leaves replayed events out of what waits, when they are old on purpose', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      await settleAll(store, HANDLED);
      await clock.advance(86_400_000);
      await store.replay({});
      expect((await store.overview()).oldestPendingAt).toBeUndefined();
      await store.record(verified({ media_id: 'new' }));
      expect((await store.overview()).oldestPendingAt).toBe(clock.now());
    });
  });

  describe('lag', () => {
    test('is that of the first event, when nothing takes what was recorded into work, and none once a claim does', async () => {
      const { store, clock, open } = fixture();
      // A process that ends right after its acks.
      const ended = await open();
      for (const media_id of ['one', 'two', 'three']) {
        await ended.record(verified({ media_id }));
        await clock.advance(50);
      }
      await ended.close();
      expect((await store.overview()).lag).toEqual({ events: 3, ms: 150 });
      await clock.advance(4850);
      expect((await store.overview()).lag).toEqual({ events: 3, ms: 5000 });
      await claims(store);
      expect((await store.overview()).lag).toEqual({ events: 0, ms: 0 });
    });

    test('is at most a quarter of a second, when the process that records goes on', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      expect((await store.overview()).lag).toEqual({ events: 1, ms: 0 });
      await clock.advance(200);
      await store.record(verified({ media_id: 'second' }));
      expect((await store.overview()).lag).toEqual({ events: 2, ms: 200 });
      await fixture().listed();
      expect((await store.overview()).lag).toEqual({ events: 0, ms: 0 });
      await store.record(verified({ media_id: 'third' }));
      expect((await store.overview()).lag).toEqual({ events: 1, ms: 0 });
    });

    test('does not count the time in quarantine, when what was admitted is the first event', async () => {
      const { store, clock } = fixture();
      await store.quarantine({ ...verified(), token: 'waits', source: '10.0.0.1' }, 100_000);
      await clock.advance(3_600_000);
      await store.admit('waits');
      expect((await store.overview()).lag).toEqual({ events: 1, ms: 0 });
      await clock.advance(100);
      expect((await store.overview()).lag).toEqual({ events: 1, ms: 100 });
    });
  });

  describe('timeline', () => {
    test('holds all of a resource in order, when they stand in every state, and nothing of others', async () => {
      const { store } = fixture();
      const states = [HANDLED, SKIPPED, DEAD, waiting(9000), HANDLED];
      for (const [index, state] of states.entries()) {
        await store.record(verified({ at: EVENT_TIME + index * 1000 }));
        await settleAll(store, state);
      }
      await store.record(verified({ at: EVENT_TIME + 5000 }));
      await claims(store);
      await store.record(verified({ at: EVENT_TIME + 6000 }));
      await store.record(verified({ media_id: 'other' }));
      const { events } = await store.search(
        { resource: 'media:media-1', since: EVENT_TIME + 3000, until: EVENT_TIME + 4000 },
        { limit: 1, reach: FAR },
      );
      const middle = only(events).id;
      const timeline = present(await store.timeline(middle, 10));
      expect(timeline.events.map(({ status }) => status)).toEqual([
        'pending',
        'running',
        'handled',
        'pending',
        'dead',
        'skipped',
        'handled',
      ]);
      const near = present(await store.timeline(middle, 1));
      expect(near.events.map(({ eventTime }) => (eventTime - EVENT_TIME) / 1000)).toEqual([4, 3, 2]);
      expect(await store.timeline('abc-0123456789abcdef0123', 1)).toBeUndefined();
    });

    test('says late, when a newer event of the resource was handled before, and not when after', async () => {
      const { store, clock } = fixture();
      const newer = await store.record(verified({ at: EVENT_TIME + 1000 }));
      await settleAll(store, HANDLED);
      await clock.advance(1000);
      const older = await store.record(verified({ at: EVENT_TIME }));
      expect(await store.timeline(older.id, 5)).toMatchObject({ late: true });
      await settleAll(store, HANDLED);
      expect(await store.timeline(older.id, 5)).toMatchObject({ late: true });
      expect(await store.timeline(newer.id, 5)).toMatchObject({ late: false });
    });
  });

  describe('channels', () => {
    const tell = (channel_id: string, event: string, second: number) =>
      fixture().store.record(
        verified({ media_id: undefined, channel_id, event, at: EVENT_TIME + second * 1000 }),
      );

    test('stand as their newest event says, when older ones come later, the latest change first', async () => {
      const { store } = fixture();
      await tell('one', 'channel_created', 9);
      await tell('one', 'channel_idle', 5);
      await tell('one', 'channel_active', 3);
      await tell('two', 'channel_idle', 1);
      await tell('two', 'channel_active', 7);
      await store.record(verified({ event: 'channel_active', media_id: 'not-a-channel' }));
      await fixture().listed();
      const { counts, channels } = await store.channels({ limit: 10 });
      expect(counts).toEqual({ active: 1, idle: 1 });
      expect(channels).toMatchObject([
        { resource: 'channel:two', state: 'active', since: EVENT_TIME + 7000, siteId: 'site-1' },
        { resource: 'channel:one', state: 'idle', since: EVENT_TIME + 5000 },
      ]);
      expect(await store.event(present(channels[0]).event)).toMatchObject({ kind: 'channel_active' });
    });

    test('take what came last, when two events are of the same second', async () => {
      const { store } = fixture();
      await tell('one', 'channel_active', 1);
      await tell('one', 'channel_idle', 1);
      await fixture().listed();
      expect((await store.channels({ limit: 1 })).counts).toEqual({ active: 0, idle: 1 });
    });

    test('come page by page and by state, when there are many, without gap or repeat', async () => {
      const { store } = fixture();
      for (let n = 0; n < 7; n++) await tell(`c${n}`, n % 2 ? 'channel_active' : 'channel_idle', n % 3);
      await fixture().listed();
      for (const [state, total] of [
        [undefined, 7],
        ['active', 3],
        ['idle', 4],
      ] as const) {
        const seen: string[] = [];
        for (let after: string | undefined; ; after = seen.at(-1)) {
          const { channels } = await store.channels({ state, after, limit: 2 });
          if (channels.length === 0) break;
          seen.push(...channels.map(({ resource }) => resource));
        }
        expect(new Set(seen).size).toBe(total);
        expect(seen).toHaveLength(total);
      }
    });
  });

  describe('quarantine summary', () => {
    test('sums up by webhook and holds no token, when notifications of several wait', async () => {
      const { store } = fixture();
      for (const [token, webhook_id] of [
        ['t1', 'a'],
        ['t2', 'b'],
        ['t3', 'a'],
      ] as const) {
        await store.quarantine({ ...verified({ webhook_id }), token, source: '10.0.0.1' }, 100_000);
      }
      const { total, webhooks, newest } = await store.quarantineSummary(2);
      expect(total).toBe(3);
      const sums = webhooks.map(({ webhookId, notifications }) => `${webhookId} ${notifications}`);
      expect(sums.toSorted()).toEqual(['a 2', 'b 1']);
      expect(newest.map(({ webhookId }) => webhookId)).toEqual(['a', 'b']);
      expect(Object.keys(present(newest[0]))).not.toContain('token');
      expect((await store.overview()).quarantined).toBe(3);
    });
  });

  describe('steps', () => {
    test('are those that are done, when an event has some, with their results', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await doSteps(store, id, { publish: '{"page":1}', announce: null });
      expect(await store.steps(id)).toEqual([
        { name: 'announce', result: null },
        { name: 'publish', result: '{"page":1}' },
      ]);
      expect(await store.steps('abc-0123456789abcdef0123')).toEqual([]);
    });
  });
}
