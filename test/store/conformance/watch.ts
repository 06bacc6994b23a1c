import { describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

export function describeWatching(fixture: CurrentFixture): void {
  describe('watch', () => {
    test('tells at once, when this process has recorded something new, and nothing of a repeat', async () => {
      const { store, clock } = fixture();
      let told = 0;
      const end = store.watch(() => told++);
      await eventually('it has looked once', () => clock.nextDue() !== undefined);
      const before = told;
      await store.record(verified());
      expect(told).toBe(before + 1);
      await store.record(verified());
      expect(told).toBe(before + 1);
      end();
      await store.record(verified({ media_id: 'other' }));
      expect(told).toBe(before + 1);
    });

    test('tells within a second, when another process has recorded something', async () => {
      const { store, clock, open } = fixture();
      const other = await open();
      let told = 0;
      const end = store.watch(() => told++);
      await eventually('it has looked once', () => clock.nextDue() !== undefined);
      const before = told;
      await other.record(verified());
      expect(told).toBe(before);
      await clock.advance(1000);
      await eventually('it is told', () => told > before);
      const after = told;
      await clock.advance(5000);
      await store.ping();
      expect(told).toBe(after); // nothing new since
      end();
    });

    test('tells when something is admitted from quarantine', async () => {
      const { store, clock } = fixture();
      await store.quarantine({ ...verified(), token: 'token', source: '::1' }, 1_000_000);
      let told = 0;
      const end = store.watch(() => told++);
      await eventually('it has looked once', () => clock.nextDue() !== undefined);
      const before = told;
      await store.admit('token');
      expect(told).toBe(before + 1);
      end();
    });

    test('leaves no timer, when nobody watches any more', async () => {
      const { store, clock } = fixture();
      const ends = [store.watch(() => {}), store.watch(() => {})];
      await eventually('it looks again later', () => clock.nextDue() !== undefined);
      for (const end of ends) end();
      expect(clock.nextDue()).toBeUndefined();
    });
  });

  describe('a cursor over what was received', () => {
    test('skips nothing and gives nothing twice, while several processes write and another follows', async () => {
      const { store, open } = fixture();
      const others = [await open(), await open()];
      const recorded: string[] = [];
      const write = async (writer: (typeof others)[number], name: string) => {
        for (let number = 0; number < 60; number += 3) {
          const some = [0, 1, 2].map((n) => writer.record(verified({ media_id: `${name}-${number + n}` })));
          recorded.push(...(await Promise.all(some)).map(({ id }) => id));
        }
      };
      let isOver = false;
      const writing = Promise.all(others.map((other, index) => write(other, `writer-${index}`))).then(() => {
        isOver = true;
      });
      const seen: string[] = [];
      let after: number | undefined;
      for (let isLast = false; !isLast; ) {
        isLast = isOver;
        const found = await store.receivedAfter({}, after, 7);
        seen.push(...found.map(({ body }) => JSON.parse(body ?? '').media_id));
        after = found.at(-1)?.place ?? after;
        if (found.length > 0) isLast = false;
      }
      await writing;
      expect(seen).toHaveLength(recorded.length);
      expect(new Set(seen).size).toBe(120);
    });
  });
}
