import { symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { DefinedApp } from '../../src/index.ts';
import { type TestReceiver, testReceiver } from '../../src/testing/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { only } from '../support/only.ts';
import { imported, snippetsOf } from '../support/snippets.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const HOUR = 3_600_000;

test('the app of docs/reconcile.md recovers each media that was lost once, when it is there and its publish start has come', async () => {
  const directory = await temporaryDirectory();
  symlinkSync(new URL('../../node_modules', import.meta.url), join(directory, 'node_modules'));
  const { app } = await imported<{ app: DefinedApp }>(only(snippetsOf('docs/reconcile.md')), directory);
  const { url } = await listeningOn(createServer((...asked) => kit.provider.app('127.0.0.1')(...asked)));
  const settings = { API_URL: url, API_SECRET: 'mock-api-secret', SITE_ID: 'site0001' };
  await using kit: TestReceiver = await testReceiver({ app, settings });
  const available = async (origin: string) => {
    const all = await kit.events({ kind: 'media_available' });
    return all.filter((one) => one.origin === origin).map(({ notification: { media_id } }) => media_id);
  };
  const { site: site_id } = kit;
  const late = new Date(kit.now() + 1.5 * HOUR).toISOString();
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
