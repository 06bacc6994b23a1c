import { afterEach, expect, test } from '@jest/globals';
import Driver from 'better-sqlite3';
import type { Claim, EventStore } from '../../src/store/event-store.ts';
import { size } from '../support/sizes.ts';
import { claimed, FAILED, HANDLED, LEASE_MS, notified, polled } from './desk.ts';
import { adminOf, onPostgres, onSqlite, type Stage } from './stages.ts';
import { Stepped } from './stepped.ts';

const THROUGH = size({ small: 2000, full: 30_000 });
const SUSPECTS = `UPDATE events SET crashes = 2 WHERE next_at IS NOT NULL AND seq % 2 = 0`;

/** Has so many events recorded, claimed and handled. */
async function through(store: EventStore, events: number): Promise<void> {
  for (let done = 0; done < events; done += 100) {
    const list = Array.from({ length: 100 }, (_, n) => notified(`media:${n}`));
    await Promise.all(list.map((one) => store.queue.record(one)));
    const claims = await claimed(store, ...list.map(({ resource }) => resource));
    await Promise.all(claims.map((claim) => store.queue.settle(claim, HANDLED)));
  }
}

/** Each statement, as its engine gets it, with its plan. `npm run plans` prints them. */
const plans = new Map<string, string>();
afterEach(() => {
  if (process.env.PRINT_PLANS) {
    process.stdout.write(`-- ${expect.getState().currentTestName}\n\n`);
    for (const [text, plan] of plans)
      process.stdout.write(`${text}\n\n${plan.replaceAll(/^/gm, '    ')}\n\n`);
  }
  plans.clear();
});

/** The indexes through which statements must go that need more than keys. */
const EXPECTED: readonly (readonly [RegExp, string])[] = [
  [/AS is_behind/, 'events_waiting lanes_free lanes_until reminders_due subscribers_pkey'],
  [/^SELECT seq, resource, received_at FROM events WHERE subscriber = .+? AND held_by /s, 'events_waiting'],
  [/^SELECT resource FROM lanes\s+WHERE subscriber = .+? AND lease IS NULL/, 'lanes_free'],
  [/^UPDATE lanes SET\s+lease = r/, 'events_ready lanes_pkey meta_pkey'],
  [
    /^SELECT\s+events.seq AS seq, id, subscriber, origin, kind, events.resource/,
    'events_handled events_other events_pkey events_ready events_reconciled',
  ],
  [/^DELETE FROM lanes/, 'events_ready lanes_pkey'],
  [/^UPDATE lanes SET\s+lease = NULL/, 'events_ready lanes_pkey'],
  [/^SELECT events.seq .* AND lease IS NOT NULL AND until/s, 'events_pkey lanes_until'],
  [/^SELECT seq, .* FROM events\s+WHERE .*?crashes >= 2/, 'events_suspect'],
  [/^SELECT seq FROM events WHERE ended_at/, 'events_full'],
  [/^SELECT resource, received_at,\s+\(SELECT 1 FROM lanes/, 'events_ready lanes_pkey'],
  [/^SELECT resource, name, due_at.* name <> ''/, 'reminders_due'],
  [/^DELETE FROM reminders WHERE/, 'reminders_due'],
  [/^SELECT seq, events.resource AS resource, origin/, 'events_own'],
  [/^SELECT seq, resource FROM events WHERE/, 'events_handled events_other events_ready'],
];

onPostgres('every statement', (stage) => {
  test('goes through the index that fits, when a snapshot held open keeps everything that was there', async () => {
    const writer = await Stepped.start(stage, 'explained');
    const { store } = writer;
    await store.queue.subscribe({ subscriber: 'search', kinds: ['media_available'] });
    const z = await adminOf(stage.adminUrl);
    await z.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM events LIMIT 1');
    await through(store, THROUGH);
    await stage.sql('ANALYZE lanes');
    await stage.sql('UPDATE events SET next_at = 1000 + seq'); // as when a backlog waited that is done now
    await stage.sql('ANALYZE events');
    await stage.sql('UPDATE events SET next_at = NULL');
    writer.before = async (text, aside) => {
      if (
        !/^(SELECT|INSERT|UPDATE|DELETE)/.test(text) ||
        plans.has(text) ||
        /pg_backend_pid|pg_advisory/.test(text)
      )
        return;
      const isRead = (await aside('SHOW transaction_read_only'))[0]?.transaction_read_only === 'on';
      if (isRead && !/AS is_behind/.test(text)) return;
      const rows = await aside(`EXPLAIN (GENERIC_PLAN, COSTS OFF) ${text}`);
      plans.set(text, rows.map((row) => row['QUERY PLAN']).join('\n'));
    };
    await everything(stage, store);
    writer.before = undefined;
    await z.query('COMMIT');
    await z.end();
    const found = new Map<RegExp, string[]>();
    for (const [text, plan] of plans) {
      expect(plan).not.toMatch(/Seq Scan on (events|lanes|attempts|state|steps|reminders)\b/);
      const [pattern] = EXPECTED.find(([statement]) => statement.test(text)) ?? [];
      const names = plan.matchAll(/(?:using|Index Scan on) ((?!pg_)\w+)/g);
      const indexes = [...new Set(Array.from(names, ([, name]) => name))].sort().join(' ');
      if (pattern) found.set(pattern, [...(found.get(pattern) ?? []), indexes]);
      else expect([text, indexes]).toEqual([text, expect.stringMatching(/^(\w+_p?key ?)*$/)]);
    }
    const went = EXPECTED.map(([pattern]) => [pattern, [...new Set(found.get(pattern))].join(' or ')]);
    expect(went).toEqual(EXPECTED);
  });
});

onSqlite('every statement', (stage) => {
  test('goes through an index of a table that grows', async () => {
    const store = await stage.another();
    const texts = new Set<string>();
    const { prepare } = Driver.prototype;
    Driver.prototype.prepare = function (text: string) {
      if (/^(SELECT|INSERT|UPDATE|DELETE)/.test(text) && text !== SUSPECTS) texts.add(text);
      return prepare.call(this, text) as never;
    };
    try {
      await through(store, 100);
      await everything(stage, store);
    } finally {
      Driver.prototype.prepare = prepare;
    }
    const raw = new Driver(stage.url.slice('sqlite:'.length), { readonly: true });
    for (const text of texts) {
      const values = Array.from(text.matchAll(/\?/g), () => null);
      const rows = raw.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(values);
      plans.set(text, rows.map(({ detail }) => detail).join('\n'));
    }
    raw.close();
    expect(plans.size).toBeGreaterThan(EXPECTED.length);
    expect([...plans.values()].join('\n')).not.toMatch(
      /SCAN (events|lanes|attempts|state|steps|reminders|e)$/m,
    );
  });
});

const REMINDERS = [{ name: 'close', afterMs: 0, data: 'null' }, { name: 'gone' }];

/** Each operation that acks or handlers wait for, with something to do. */
async function everything(stage: Stage, store: EventStore): Promise<void> {
  const names = Array.from({ length: 20 }, (_, n) => `media:e${n}`);
  const list = names.map((name) => notified(name, 5));
  await Promise.all(
    [...list, ...list, ...names.map((name) => notified(name, 6))].map((one) => store.queue.record(one)),
  );
  const claims = await claimed(store, ...names.slice(0, 10));
  await store.queue.renew({ list: claims, leaseMs: LEASE_MS });
  for (const claim of claims.slice(0, 1))
    await store.queue.saveStep({ ...claim, ...{ name: 'mail', result: '1' } });
  const ends = claims.map((claim, n) =>
    store.queue.settle(
      claim,
      n % 2 ? FAILED : { ...HANDLED, state: [{ name: 'k', value: '1' }], reminders: REMINDERS },
    ),
  );
  await Promise.all(ends);
  await stage.sql(SUSPECTS);
  await stage.pass(2000);
  await store.queue.wake();
  await polled(store, { oldest: 4, newest: 4 });
  await stage.pass(LEASE_MS + 1);
  await store.queue.recover({ held: [], maxAttempts: 40 });
  await polled(store, { oldest: 2, limits: [{ kinds: ['media_available'], room: 1, newest: 0 }] });
  const rest = await polled(store, { oldest: 100 });
  await Promise.all(rest.map((claim: Claim) => store.queue.settle(claim, HANDLED)));
  await store.queue.replay({ ids: list.slice(0, 4).map(({ id }) => id) });
  await store.queue.dismiss({ ids: list.slice(0, 4).map(({ id }) => id) }, 'not needed');
  await store.queue.subscribe({ subscriber: 'mail', kinds: ['media_available'] });
  await store.queue.startSubscriber('mail', 0);
  await store.queue.wake({ subscriber: 'search' });
  await store.queue.work({ subscriber: 'search' });
  await store.queue.removeSubscriber('mail');
  await store.queue.schedule({ list: [{ resource: 'schedule:often', data: '{"every":1000}' }] });
  await store.queue.comeDue({ schedules: [] });
  await store.queue.prune({ before: Date.now() * 2, limit: 5 });
  await store.queue.sweep();
  await store.queue.erase({ resource: 'media:1' });
}
