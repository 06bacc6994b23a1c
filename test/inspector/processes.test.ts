import { beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { parseConfig } from '../../src/config.ts';
import { stats } from '../../src/inspector/attention/attention.ts';
import { FAILED, MOST, NOON, notified, polled, recorded } from '../store/desk.ts';
import { onEachEngine } from '../store/stages.ts';

/** Lives: a name, how many seconds ago it started and was last seen, and whether it left then. */
const TWO = 'a 7200 5, b 7200 5';
const drawn = (...lives: string[]) => lives.map((life, n) => `host-0000000${n} ${life}`).join();

/** It is started again each 30 seconds, and lives for 25. */
function loop(name: (n: number) => string, lives: number, last = 5, end = ''): string {
  const life = (n: number) => `${name(n)} ${last + 30 * n + 25} ${last + 30 * n} ${n > 0 ? end : ''}`;
  return Array.from({ length: lives }, (_, n) => life(n)).join();
}
const again = (lives: number, last?: number, end?: string) => loop(() => 'a', lives, last, end);
const drawnAgain = (lives: number, last?: number) => loop((n) => `host-0000000${n}`, lives, last);

onEachEngine('what is said of processes and subscribers', (stage) => {
  beforeEach(() => stage.clock.advance(Math.max(0, Date.now() - stage.clock.now())));

  async function told(lives: string, env: Readonly<Record<string, string>> = {}) {
    await stage.sql('DELETE FROM instances');
    const ago = (seconds: string | undefined) => stage.clock.now() - Number(seconds) * 1000;
    for (const [name, started, seen, left] of lives.split(/, ?/).map((life) => life.split(' ')))
      await stage.sql(`INSERT INTO instances (name, started_at, version, running, kinds, clock_at, seen_at, left_at)
        VALUES ('${name}', ${ago(started)}, '1', 0, '', ${ago(seen)}, ${ago(seen)}, ${left ? ago(seen) : 'NULL'})`);
    return said(env);
  }
  async function said(env: Readonly<Record<string, string>> = {}) {
    const config = parseConfig({ DATABASE_URL: stage.url, ...env });
    const { concerns } = await stats({ store: stage.store, config, clock: systemClock });
    return concerns.map(({ grave, fault, of = '', text, advice }) =>
      [grave ? 'grave' : 'minor', fault, `${of}:`, text, advice].join(' '),
    );
  }
  /** An event that an instance had at work when it ended. */
  async function lost(owner: string, resource: string) {
    const [event] = await recorded(stage.store, notified(resource));
    await polled(stage.store, { owner, leaseMs: 1 });
    await stage.pass(2);
    await stage.store.queue.recover(MOST);
    return event?.id;
  }

  const FEWER = 'fewer : 2 receivers run, and INSTANCES is 3 c left';
  const ENDED = (of: string, times: number) =>
    `grave restarts ${of}: Instance ${of} ended ${times} times in 10 minutes without a stop, and was started`;
  test.each([
    ['two run as before', TWO, ''],
    [
      'one left',
      `${TWO}, c 7200 300 left`,
      'minor fewer : 2 receivers run, and 3 ran in the last hour c left 5 min',
    ],
    ['one of INSTANCES=3 left a minute ago', `${TWO}, c 7200 60 left`, `minor ${FEWER} 1 min ago`],
    ['one of INSTANCES=3 left three minutes ago', `${TWO}, c 7200 180 left`, `grave ${FEWER} 3 min ago`],
    ['INSTANCES=3 are starting', 'a 60 5, b 50 5', 'minor fewer'],
    ['one of INSTANCES=3 came back', `${TWO}, c 7200 180 left, c 170 5`, ''],
    ['another took its place', `${TWO}, pod1-00000001 7200 180 left, pod2-00000002 170 5`, ''],
    ['one of INSTANCES=3 is away', `${TWO}, c 7200 40`, 'grave away c: Instance c was last seen 4'],
    ['one crashed and started again', `${TWO}, c 7200 40, c 35 5`, ''],
    ['all left', 'a 7200 60 left', 'grave no_server'],
    ['one starts again and again', again(20), ENDED('a', 19)],
    ['its name is drawn at each start', drawnAgain(5), ENDED('host', 4)],
    ['the last of these lives is away', drawnAgain(5, 40), ENDED('host', 5)],
    ['none has crashed for a minute', `a 65 5, ${again(4, 70)}`, ''],
    ['a crash each third minute, one is due', 'a 100 5, a 300 110, a 480 310, a 580 490', ENDED('a', 3)],
    ['it crashed twice', again(3), ''],
    ['it was stopped in order each time', again(5, 5, 'left'), ''],
    [
      'all of a machine ended at once',
      drawn(...['7200 60', '40 5'].flatMap((life) => [life, life, life])),
      '',
    ],
  ])('is true, when %s', async (what, lives, expected) => {
    const env = what.includes('INSTANCES=3') ? { INSTANCES: '3' } : undefined;
    expect(await told(lives, env)).toEqual(expected ? [expect.stringContaining(expected)] : []);
  });

  test('names the event that was lost most often, and those that are still at work', async () => {
    const id = await lost('a', 'media:culprit');
    await lost('a', 'media:bystander');
    const [restarts] = await told(again(4));
    expect(restarts).toContain(`it was handling: ${id} (media_available, site site1) `);
    expect(restarts).toContain(`events dismiss --id ${id}`);
    await recorded(stage.store, notified('media:blocks'));
    await polled(stage.store, { owner: 'c' });
    const [away] = await told(`${TWO}, c 7200 40`);
    expect(away).toMatch(/ago; it was handling: .*site1\) .* blocks the event loop looks like this/);
  });

  test('says which places an instance holds, and not which ones an earlier life of its name did', async () => {
    await recorded(stage.store, notified());
    await polled(stage.store, { owner: 'a' });
    await stage.sql('UPDATE lanes SET started_at = started_at - 60000');
    expect(await told(TWO)).toEqual([expect.stringContaining('held_places a')]);
    expect(await told('a 7200 55, a 50 5, b 7200 5')).toEqual([]);
  });

  test('has the clock of an instance that is off by more than a minute, and goes by the one of the store', async () => {
    if (!stage.isPostgres) return; // one machine has one clock
    await told(TWO);
    const off = await stage.another({ clock: new VirtualClock(Date.now() - 7_205_000) });
    const instance = { name: 'c', version: '1', startedAt: Date.now() - 10_000_000, running: 0, kinds: [] };
    await off.reports.report({ instance, stats: [], refusals: [] });
    expect(await said()).toEqual([
      expect.stringMatching(/^grave clock c: .* c is 2 h 0 min behind, comp.*NTP/),
    ]);
  });

  test('has the clock of the machine, when the three newest events come from its future', async () => {
    const clocks = async (...minutesAhead: number[]) => {
      for (const one of minutesAhead)
        await recorded(stage.store, notified(`media:${one}`, (stage.clock.now() - NOON) / 1000 + one * 60));
      return (await said()).filter((text) => text.includes('clock'));
    };
    await told(TWO);
    expect(await clocks(121, 122)).toEqual([]);
    expect(await clocks(120.5)).toEqual([
      expect.stringMatching(/^grave clock : .* machine is 2 h 0 min behind/),
    ]);
    expect(await clocks(0)).toEqual([]);
  });

  test('names a subscriber that no process has had for an hour, and neither its ready nor its failed events, until one has it', async () => {
    const { store } = stage;
    const report = (name: string, ...kinds: string[]) => {
      const instance = { name, version: '1', startedAt: stage.clock.now(), running: 0, kinds };
      return store.reports.report({ instance, stats: [], refusals: [] });
    };
    await store.queue.subscribe({ subscriber: 'search', kinds: ['media_available'] });
    await recorded(store, notified('media:one'), notified('media:two'));
    await store.queue.wake({ subscriber: 'search' });
    for (const claim of await polled(store, { subscriber: 'search', oldest: 1 }))
      await store.queue.settle(claim, FAILED);
    await stage.sql("UPDATE events SET ended_at = 1, status = 'handled' WHERE subscriber = ''");
    await stage.sql("DELETE FROM lanes WHERE subscriber = ''");
    await stage.sql(`UPDATE events SET received_at = received_at - 600000`);
    await report('b', 'media_available', 'unknown');
    expect(await said()).toEqual([
      expect.stringMatching(
        /^minor absent_subscriber search: .*search for an hour: it is 0 notifications behind .*`npx hookkit subscribers remove search`/,
      ),
    ]);
    await report('c', 'media_available', 'media_available@search');
    expect(await said()).toEqual([
      expect.stringMatching(/^grave failing site1: 1 event fails .*: search: /),
      expect.stringMatching(
        /^grave not_taken_up search: An event of subscriber search has been ready for 10 min/,
      ),
    ]);
    await store.reports.leave({ name: 'c', startedAt: stage.clock.now() });
    expect(await said()).toEqual([]);
    await store.queue.removeSubscriber('search');
    expect(await said()).toEqual([]);
    expect(await polled(store)).toEqual([]);
  });
});
