import { expect, test } from '@jest/globals';
import { ENDPOINTS } from '../../src/inspector/api/endpoints.ts';
import { audited } from '../../src/store/reports/audit.ts';
import { eventually } from '../support/eventually.ts';
import { notification, WEBHOOK } from '../support/genuine.ts';
import { inspect } from '../support/inspected-service.ts';

const FAILING = 'media_deleted';
const RIGHT = 'the-right-secret-of-thirty-two-bytes';
const REQUEST = '0b0e7a4e-94e4-4d33-8f0a-2f7ed1d24a4e';

const inspected = await inspect({
  media_available() {},
  media_deleted() {
    throw new Error('the archive is gone');
  },
});
await inspected.deliver(notification());
for (const media_id of ['a', 'b']) await inspected.deliver(notification({ media_id, event: FAILING }));
await inspected.deliver(notification({ media_id: 'kept' }), RIGHT);
await inspected.settled();
const idOf = async (status: string) => (await inspected.api(`/events?status=${status}`)).events[0].id;
const ids: Readonly<Record<string, string>> = {
  handled: await idOf('handled'),
  dead: await idOf('dead'),
  gone: 'gone',
};
await inspected.addGone('gone');
const isKept = async () => (await inspected.service.store.quarantine.size()) === 1;
await eventually('it is in quarantine', isKept);

/** For each route that changes something: the event or instance in its path, what else is asked and kept, what is not kept, and how many it changes. */
const CHANGING: Readonly<Record<string, readonly [string, string, object, object, number]>> = {
  'post /events/replay': ['events replay', '', { kind: FAILING, since: '2020-01-01' }, { id: REQUEST }, 2],
  'post /events/dismiss': ['events dismiss', '', { error: '*gone' }, { reason: 'private' }, 2],
  'post /events/:id/replay': ['events replay', 'handled', { reset_steps: true }, {}, 1],
  'post /events/:id/dismiss': ['events dismiss', 'dead', {}, { reason: 'private' }, 0],
  'post /quarantine/admit': ['quarantine admit', '', { webhook: WEBHOOK }, {}, 0],
  'post /quarantine/drop': ['quarantine drop', '', { all: true }, {}, 1],
  'post /pause': ['pause', '', { reason: 'it moves' }, {}, 1],
  'post /resume': ['resume', '', {}, {}, 1],
  'delete /instances/:name': ['instances forget', 'gone', {}, {}, 1],
};

test('each route that changes something leaves a row with what was asked, by whom, and how many it changed; a dry run leaves none', async () => {
  const headers = { 'content-type': 'application/json' };
  let rows = 0;
  for (const { method, path } of ENDPOINTS.filter((one) => one.method !== 'get')) {
    const [what, of = '', asked = {}, more, changed] = CHANGING[`${method} ${path}`] ?? [];
    const [, parameter = ''] = /:(\w+)/.exec(path) ?? [];
    const to = `${inspected.url}/api${path.replace(`:${parameter}`, ids[of] ?? '')}`;
    const ask = (given: object) => fetch(to, { method, headers, body: JSON.stringify(given) });
    if (/events.(replay|dismiss)$/.test(path)) await ask({ ...asked, dry_run: true });
    await ask({ ...asked, ...more });
    await inspected.settled();
    const { changes } = await inspected.api('/audit');
    expect(changes).toHaveLength(++rows);
    const filters = { ...asked, ...(parameter && { [parameter]: ids[of] }) };
    const { seq, at, ...row } = changes[0];
    expect(row).toEqual({ what, filters, who: 'inspector at 127.0.0.1', changed });
  }
});

test('a page shows the changes of all, the last first and page by page, and which did not come to an end', async () => {
  const { store } = inspected.service;
  const cut = { what: 'erase', filters: { site: '<b>one</b>' }, who: 'ada@desk' };
  const fail = () => Promise.reject(new Error('the disk is away'));
  await expect(audited(store, cut, fail, () => 1)).rejects.toThrow('the disk is away');
  const page = async (path: string) => (await inspected.raw(path)).body.replaceAll(/<[^>]*>|\s+/g, ' ');
  const { changes, next } = await inspected.api('/audit?limit=2');
  expect(changes).toMatchObject([{ ...cut, changed: null }, { what: 'instances forget' }]);
  const rest = await inspected.api(`/audit?before=${next}`);
  expect(rest).toMatchObject({ changes: { length: 8 }, next: null });
  const first = await page('/changes?limit=2');
  expect(first).toMatch(/erase +by ada@desk: +has not ended +site +&lt;b&gt;one.*instances forget/);
  expect(await page(`/changes?before=${next}`)).toMatch(/resume +by inspector at 127.0.0.1: +1 changed/);
  expect(first).not.toContain('resume');
});
