import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from '@jest/globals';
import type { DefinedApp, Handlers } from '../../src/index.ts';
import {
  type Check,
  type Happening,
  matrix,
  type Scenario,
  type Start,
  type TestReceiver,
  testReceiver,
} from '../../src/testing/index.ts';
import { present } from '../support/only.ts';
import { size } from '../support/sizes.ts';
import { placed, snippetsOf } from '../support/snippets.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const snippets = [...snippetsOf('docs/guide.md'), ...snippetsOf('docs/patterns.md')];
const HISTORIES = { random: size({ small: 3, full: 400 }), most: size({ small: 8, full: 400 }) };
const CRASHES = { random: size({ small: 0, full: 20 }), most: size({ small: 2, full: 20 }) };
const TRACKS = size({ small: 30, full: 100 });
const MEDIA = { media_id: 'UUhbHm6C' };

let directory: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  symlinkSync(new URL('../../node_modules', import.meta.url), join(directory, 'node_modules'));
});

/** The module of a snippet. @typeParam Module what it exports */
async function pattern<Module>(file: string): Promise<Module> {
  const path = join(directory, file);
  writeFileSync(path, placed(present(snippets.find((snippet) => snippet.file === file))));
  return import(pathToFileURL(path).href);
}

/** Checks what is left when notifications come in any order and more than once, are replayed, and wherever the process dies. */
async function holds<W>(happened: readonly Happening[], begin: Scenario<W>, check: Check<W>): Promise<void> {
  await matrix(happened, begin, check, HISTORIES);
  await matrix(happened, begin, check, { ...CRASHES, crashes: 'every' });
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
  const happened: Happening[] = [
    ['media_available', MEDIA],
    ['media_deleted', MEDIA],
    ['media_available', { media_id: 'another' }],
  ];
  await holds(happened, begin, (_kit, shown) => expect([...shown]).toEqual(['another']));
});

test('an index that is down for an hour delays no caption and no mail, and has each media in the end', async () => {
  await pattern('pages.ts');
  const { systems } = await pattern<{ systems(...given: object[]): DefinedApp }>('systems.ts');
  const calls = { index: new Set<string>(), captions: new Set<string>(), mails: new Set<string>() };
  const put = async (mediaId: string) => {
    if (kit.now() < upAt) throw new Error('the index is down');
    calls.index.add(mediaId);
  };
  const caption = async (mediaId: string, key: string) => void calls.captions.add(`${mediaId} ${key}`);
  const mail = async (mediaId: string, key: string) => void calls.mails.add(`${mediaId} ${key}`);
  await using kit: TestReceiver = await testReceiver({
    app: () => systems({ put, remove: async () => {} }, caption, mail),
  });
  const upAt = kit.now() + 3_600_000;
  const { id } = await kit.deliver('media_available', MEDIA);
  await kit.deliver('media_available', { media_id: 'another' });
  await kit.advance('1m');
  expect([calls.index.size, calls.captions.size, calls.mails.size]).toEqual([0, 2, 2]);
  expect(calls.mails).toContain(`UUhbHm6C ${id}`);
  expect(calls.captions).toContain(`UUhbHm6C ${id}@captions`);
  await kit.advance('3h');
  expect([calls.index.size, calls.captions.size, calls.mails.size]).toEqual([2, 2, 2]);
});

test('each reupload is counted once', async () => {
  const { handlers } = await pattern<{ handlers: Handlers }>('reuploads.ts');
  const happened: Happening[] = [
    ['media_reuploaded', MEDIA],
    ['media_reuploaded', MEDIA],
  ];
  const begin = async (start: Start) => void (await start({ handlers }));
  await holds(happened, begin, async (kit) => {
    expect((await kit.state('media:UUhbHm6C')).reuploads).toHaveLength(2);
  });
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

test('each media stands in one digest, that of its hour, though a mail fails, the process starts again and events are replayed', async () => {
  const { digest } = await pattern<{ digest(send: object): DefinedApp }>('digest.ts');
  const sent = new Map<string, string>();
  let failures = 1;
  const send = async (text: string, key: string) => {
    if (failures-- > 0) throw new Error('the mail service is down');
    if (!sent.has(key)) sent.set(key, text);
  };
  await using kit: TestReceiver = await testReceiver({ app: () => digest(send) });
  await kit.deliver('media_available', { media_id: 'first' });
  await kit.advance('59m');
  expect(sent.size).toBe(0);
  await kit.advance('1h');
  await kit.deliver('media_available', { media_id: 'second' });
  await kit.handled();
  await kit.restart();
  await kit.advance('2h');
  await kit.replay();
  await kit.advance('2h');
  expect([...sent]).toEqual([
    ['digest of 2026-01-01T00', 'New: media:first'],
    ['digest of 2026-01-01T01', 'New: media:second'],
  ]);
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
