import { symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { DefinedApp, Handlers } from '../../src/index.ts';
import {
  type Check,
  everyCrash,
  type Happening,
  matrix,
  type Scenario,
  type Start,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { only, present } from '../support/only.ts';
import { size } from '../support/sizes.ts';
import { imported, snippetsOf } from '../support/snippets.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const snippets = [...snippetsOf('docs/guide.md'), ...snippetsOf('docs/patterns.md')];
const HISTORIES = { random: size({ small: 3, full: 400 }), most: size({ small: 8, full: 400 }) };
const CRASHES = { random: size({ small: 0, full: 20 }), most: size({ small: 2, full: 20 }) };
const TRACKS = size({ small: 30, full: 100 });
const MEDIA = { media_id: 'UUhbHm6C' };

const directory = await temporaryDirectory();
symlinkSync(new URL('../../node_modules', import.meta.url), join(directory, 'node_modules'));

/** The module of a snippet. @typeParam Module what it exports */
const pattern = <Module>(file: string) =>
  imported<Module>(present(snippets.find((snippet) => snippet.file === file)), directory);

/** Checks what is left when notifications come in any order and more than once, are replayed, and wherever the process dies. */
async function holds<W>(happened: readonly Happening[], begin: Scenario<W>, check: Check<W>): Promise<void> {
  await matrix(happened, begin, check, HISTORIES);
  await matrix(happened, begin, check, { ...CRASHES, crashes: 'every' });
}

/** Checks that a media is shown once it is available, and not once it is deleted. */
async function showsUntilDeleted(begin: Scenario<ReadonlySet<string>>): Promise<void> {
  const happened: Happening[] = [
    ['media_available', MEDIA],
    ['media_deleted', MEDIA],
  ];
  await holds(happened.slice(0, 1), begin, (_kit, shown) => expect([...shown]).toEqual(['UUhbHm6C']));
  await holds(happened, begin, (_kit, shown) => expect([...shown]).toEqual([]));
}

test('no deleted media has a page', async () => {
  const { pages } = await pattern<{ pages(cms: object): Handlers }>('pages.ts');
  const begin = async (start: Start) => {
    const shown = new Set<string>();
    const put = async (mediaId: string) => void shown.add(mediaId);
    const remove = async (mediaId: string) => void shown.delete(mediaId);
    await start({ handlers: () => pages({ put, remove }) });
    return shown;
  };
  await showsUntilDeleted(begin);
});

test('an index that is down for an hour delays no page, and has each media in the end', async () => {
  await pattern('pages.ts');
  const { appOf } = await pattern<{ appOf(...given: object[]): DefinedApp }>('app.ts');
  const [shown, found] = [new Set<string>(), new Set<string>()];
  const remove = async () => {};
  const put = async (mediaId: string) => {
    if (kit.now() < upAt) throw new Error('the index is down');
    found.add(mediaId);
  };
  const cms = { put: async (mediaId: string) => void shown.add(mediaId), remove };
  await using kit: TestReceiver = await testReceiver({ app: () => appOf(cms, { put, remove }) });
  const upAt = kit.now() + 3_600_000;
  for (const media_id of ['first', 'second']) await kit.deliver('media_available', { media_id });
  await kit.advance('1m');
  expect([shown.size, found.size]).toEqual([2, 0]);
  await kit.advance('3h');
  expect([shown.size, found.size]).toEqual([2, 2]);
});

test('a premiere is announced once, wherever the process dies, on a server that knows no keys', async () => {
  const { premiere } = await pattern<{ premiere: Handlers }>('premiere.ts');
  await everyCrash(
    async (start) => {
      const kit = await start({ handlers: premiere });
      kit.provider.setStatuses({ before_4_3: true });
      await kit.deliver('media_created', MEDIA);
    },
    async (kit) => {
      const { statuses } = await kit.statuses.page();
      expect(statuses.map(({ params }) => params.text)).toEqual(['Premiere of UUhbHm6C']);
    },
  );
});

test('many tracks are translated at two calls a second, and none of them is dead', async () => {
  const { translations } = await pattern<{ translations(translate: object): DefinedApp }>('translations.ts');
  const translated = new Set<string>();
  const calls: number[] = [];
  let atOnce = 0;
  const translate = async (trackId: string) => {
    expect(++atOnce).toBeLessThanOrEqual(2);
    await setImmediate();
    atOnce--;
    const isFull = calls.filter((at) => at > kit.now() - 1000).length === 2;
    if (isFull) return new Response(null, { status: 429, headers: { 'Retry-After': '1' } });
    calls.push(kit.now());
    translated.add(trackId);
    return new Response();
  };
  await using kit: TestReceiver = await testReceiver({ app: translations(translate) });
  for (let number = 0; number < TRACKS; number++)
    await kit.deliver('track_created', { track_id: `track${number}`, media_id: `media${number}` });
  await kit.settled();
  expect(translated.size).toBe(TRACKS);
  const ends = (await kit.events()).map(({ status, attempts }) => `${status} after ${attempts}`);
  expect(new Set(ends)).toEqual(new Set(['handled after 1']));
});

test('an incident is closed five minutes after its channel went idle, unless that is back', async () => {
  const { incidents } = await pattern<{ incidents(desk: object): Handlers }>('incidents.ts');
  const begin = async (start: Start) => {
    const isOpen = new Map<string, boolean>();
    const open = async (channelId: string) => void isOpen.set(channelId, true);
    const close = async (channelId: string) => void isOpen.set(channelId, false);
    await start({ handlers: () => incidents({ open, close }) });
    return isOpen;
  };
  const happened: Happening[] = [
    ['channel_idle', { channel_id: 'Ny05CEfj' }],
    ['channel_active', { channel_id: 'Ny05CEfj' }],
  ];
  await holds(happened, begin, (_kit, isOpen) => expect([...isOpen.values()]).toEqual([true]));
  await holds(happened.toReversed(), begin, (_kit, isOpen) =>
    expect([...isOpen.values()]).not.toContain(true),
  );
});

test('captions are shown once they are there, those of a deleted media never, and an order is given up after a day', async () => {
  const { captions } = await pattern<{ captions(service: object): Handlers }>('captions.ts');
  const serviceOf = (minutes: number) => {
    const [asked, shown] = [new Map<string, number>(), new Set<string>()];
    const order = async (_: string, key: string) => `job ${key}`;
    const show = async (mediaId: string, job: string) => {
      asked.set(job, 1 + (asked.get(job) ?? 0));
      if (Number(asked.get(job)) < minutes) return false;
      shown.add(mediaId);
      return true;
    };
    const remove = async (mediaId: string) => void shown.delete(mediaId);
    return { service: { order, show, remove }, shown };
  };
  const begin = async (start: Start) => {
    const { service, shown } = serviceOf(3);
    await start({ handlers: () => captions(service) });
    return shown;
  };
  await showsUntilDeleted(begin);
  await using kit = await testReceiver({ handlers: captions(serviceOf(Infinity).service) });
  await kit.deliver('media_available', MEDIA);
  await kit.advance('2d');
  expect(await kit.events({ kind: 'reminder', status: 'dead' })).toMatchObject([
    { lastError: 'there are no captions after a day' },
  ]);
});

test('each media stands in the digest of its hour and in no other, also after the mail service was down', async () => {
  const { digest } = await pattern<{ digest(send: object): DefinedApp }>('digest.ts');
  const begin = async (start: Start) => {
    const sent = new Map<string, Set<string>>();
    let failures = 1;
    const send = async (text: string, key: string) => {
      if (failures-- > 0) throw new Error('the mail service is down');
      sent.set(key, (sent.get(key) ?? new Set()).add(text));
    };
    await start({ app: () => digest(send) });
    return sent;
  };
  const happened = ['first', 'second'].map((media_id): Happening => ['media_available', { media_id }]);
  await holds(happened, begin, async (kit, sent) => {
    await kit.advance('2h');
    const texts = [...sent.values()].map((ofHour) => [...ofHour].join(' and '));
    expect(
      texts
        .join()
        .match(/media:\w+/g)
        ?.toSorted(),
    ).toEqual(['media:first', 'media:second']);
    const { digest: hour } = await kit.state('media:first');
    expect([...(sent.get(`digest of ${hour}`) ?? [])].join()).toContain('media:first');
  });
});

test('the announcement waits for both events, and is made once', async () => {
  const { complete } = await pattern<{ complete(announce: object): Handlers }>('complete.ts');
  const begin = async (start: Start) => {
    const keys: string[] = [];
    const kit = await start({ handlers: () => complete(async (_id: string, key: string) => keys.push(key)) });
    return { keys, kit };
  };
  const happened: Happening[] = [
    ['media_available', MEDIA],
    ['conversions_complete', MEDIA],
  ];
  await holds(happened, begin, (_kit, { keys }) =>
    expect(new Set(keys)).toEqual(new Set(['announce UUhbHm6C'])),
  );
  await using kit = await testReceiver({ handlers: complete(async () => expect(1).toBe(2)) });
  await kit.deliver('media_available', MEDIA);
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'skipped', lastError: 'the other one has not come' });
});

test('a kind that the kit does not know is handled, and any other is skipped', async () => {
  const { handlers } = await pattern<{ handlers: Handlers }>('expired.ts');
  await using kit = await testReceiver({ handlers });
  const members = { webhook_id: 'any', site_id: 's', event_time: '2026-01-01T00:00:00Z' };
  for (const event of ['media_expired', 'media_invented'])
    await kit.deliverBody({ event, ...MEDIA, ...members });
  await kit.settled();
  expect(await kit.events()).toMatchObject([
    { status: 'handled', resource: 'media:UUhbHm6C' },
    { status: 'skipped', lastError: 'no handler for media_invented' },
  ]);
});

test('the app of docs/reconcile.md recovers each media that was lost once, when it is there and its publish start has come', async () => {
  const { app } = await imported<{ app: DefinedApp }>(only(snippetsOf('docs/reconcile.md')), directory);
  const { url } = await listeningOn(createServer((...asked) => kit.provider.app('127.0.0.1')(...asked)));
  const settings = { API_URL: url, API_SECRET: 'mock-api-secret', SITE_ID: 'site0001' };
  await using kit: TestReceiver = await testReceiver({ app, settings });
  const available = async (origin: string) => {
    const all = await kit.events({ kind: 'media_available' });
    return all.filter((one) => one.origin === origin).map(({ notification: { media_id } }) => media_id);
  };
  const { site: site_id } = kit;
  const late = new Date(kit.now() + 5_400_000).toISOString();
  kit.provider.createMedia({ site_id, media_id: 'late', publish_at: late });
  kit.provider.createMedia({ site_id, media_id: 'told' });
  await kit.settled();
  kit.provider.setFaults({ drop: 1 });
  const ids = Array.from({ length: 120 }, () => kit.provider.createMedia({ site_id }).media_id);
  kit.provider.deleteMedia(kit.provider.createMedia({ site_id }).media_id);
  await kit.settled();
  expect([await available('notification'), await available('reconciled')]).toEqual([['told'], []]);
  await kit.advance('1h');
  await kit.settled();
  expect((await available('reconciled')).toSorted()).toEqual(ids.toSorted());
  await kit.advance('2h');
  await kit.settled();
  expect((await available('reconciled')).slice(120)).toEqual(['late']);
  expect(await available('notification')).toEqual(['told']);
});
