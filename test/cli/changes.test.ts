import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, jest, test } from '@jest/globals';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { install } from '../support/installation.ts';
import { present } from '../support/only.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(60_000);

const HANDLERS = fileURLToPath(new URL('./handlers/changing.ts', import.meta.url));
const NOON = Date.UTC(2026, 0, 1, 12);
const SECRETS = ['a-secret-from-a-file', 'secret.txt'];

const here = await install({ HANDLERS }, 'sqlite');
afterAll(() => here.dispose());
const store = await here.openStore();
for (const media_id of ['came', 'other']) await store.queue.record(verified({ media_id, at: NOON }));
await settleAll(store, { ...HANDLED, state: [{ name: 'n', value: '1' }] });
const unproven = { ...verified({ media_id: 'quarantined', at: NOON }), token: 'x.y.z', source: '::1' };
await store.quarantine.add(unproven, 1_000_000);
await store.close();
writeFileSync(join(here.directory, 'secret.txt'), 'a-secret-from-a-file');
writeFileSync(join(here.directory, 'old.ndjson'), `${verified({ media_id: 'old' }).body}\n`);

/** Types a command; WEBHOOK is the one webhook of the provider. */
const type = (command: string) => {
  const typed = command.replace('WEBHOOK', here.mock.listWebhooks().at(-1)?.id ?? '');
  return here.cli(typed.split(' '), { cwd: here.directory });
};
const changes = (...more: readonly string[]) => here.json(['audit', ...more]);

/** Each command that changes something: what is typed behind it, its filters, and how many it changes. */
const changing: readonly (readonly [command: string, typed: string, filters: object, changed: number])[] = [
  ['pause', '--reason upgrade', { reason: 'upgrade' }, 1],
  ['resume', '', {}, 1],
  ['reconcile', '--since 2026-01-01 --most 3', { since: '2026-01-01', most: '3' }, 3],
  ['events replay', '--q came --kind media --kind tracks', { q: 'came', kind: ['media', 'tracks'] }, 1],
  ['events dismiss', '--reason=old --resource=media:came', { reason: 'old', resource: 'media:came' }, 1],
  ['events prune', '--older-than 1ms', { olderThan: '1ms' }, 1],
  ['events import', 'old.ndjson', { file: 'old.ndjson' }, 1],
  ['subscribers start', 'search --since 2026-01-01', { name: 'search', since: '2026-01-01' }, 3],
  ['subscribers remove', 'search', { name: 'search' }, 3],
  ['state delete', 'media:came', { resource: 'media:came' }, 1],
  ['quarantine admit', '', {}, 0],
  ['quarantine drop', '--webhook webhook-1', { webhook: 'webhook-1' }, 1],
  ['webhooks import', '--id other001 --secret-file secret.txt --now', { id: 'other001', now: true }, 1],
  ['webhooks create', '--name main --site s --all-events --url https://your.host/', { site: 's' }, 1],
  ['webhooks update', 'WEBHOOK --event media_created track_created', { event: expect.any(Array) }, 1],
  ['webhooks rotate', 'WEBHOOK --grace 1h', { grace: '1h' }, 1],
  ['webhooks delete', 'WEBHOOK', { id: expect.stringMatching(/./) }, 1],
  ['secrets rekey', '', {}, 3],
  ['erase', '--media other', { media: expect.stringMatching(/^erased:/) }, 1],
];

test.each(changing)(
  'hookkit %s is in the audit, when it has run',
  async (command, typed, filters, changed) => {
    const { code, stderr } = await type(`${command} ${typed}`.trim());
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const [row, ...others] = await changes('--limit', '1');
    expect(others).toEqual([]);
    expect(row).toMatchObject({ what: command, who: expect.stringMatching(/.@./), filters, changed });
    expect(Math.abs(Date.parse(row.at) - Date.now())).toBeLessThan(60_000);
  },
);

test('the audit has no secret and no path of one, pages, and says what came to no end', async () => {
  expect(await type('webhooks delete nobody')).toMatchObject({ code: 1 });
  const all = await changes('--limit', '1000');
  expect(all).toHaveLength(changing.length + 1);
  const secrets = [...SECRETS, ...here.provider.secrets, here.mock.apiSecret];
  expect(secrets.filter((one) => JSON.stringify(all).includes(one))).toEqual([]);
  const [last, second, third] = all;
  expect(await changes('--limit', '2')).toEqual([last, second]);
  expect((await changes('--before', `${second.seq}`))[0]).toEqual(third);
  const shown = await type('audit --limit 2');
  expect(shown.stdout).toMatch(/^\d+ +\S+Z +webhooks delete +\S+@\S+ +not ended +\{"id":"nobody"\}$/m);
  expect(shown.stderr).toBe(`there may be more: --before ${second.seq}\n`);
});

test.each([
  ['events replay --all --dry-run', 0],
  ['events dismiss --all --reason any --dry-run', 0],
  ['events prune --older-than 1d --dry-run', 0],
  ['reconcile --dry-run --since 2026-01-01', 0],
  ['events import nowhere.ndjson', 2],
  ['quarantine drop', 2],
])('hookkit %s leaves no row in the audit', async (command, code) => {
  const before = await changes();
  expect(await type(command)).toMatchObject({ code });
  expect(await changes()).toEqual(before);
});

/** Commands that change nothing in a database, or are no command of a person's. */
const OTHERS = `serve demo dev mock listen status audit backup doctor init
  events:list,show,export,check,send webhooks:list,show quarantine:list handlers:list,check,try state:show subscribers:list`;

test('a command that is new changes something, or is among those that do not', async () => {
  const namesIn = ({ stdout }: { stdout: string }) =>
    [...(stdout.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name);
  const all: string[] = [];
  for (const name of namesIn(await type('--help')).filter((one) => one !== 'help')) {
    const inner = namesIn(await type(`${name} --help`)).filter((one) => one !== 'help');
    all.push(...(inner.length > 0 ? inner.map((one) => `${name} ${one}`) : [name]));
  }
  const others = OTHERS.split(/\s+/).flatMap((one) => {
    const [group, names] = one.split(':');
    return names?.split(',').map((name) => `${group} ${name}`) ?? [one];
  });
  const known = [...changing.map(([command]) => command), ...others, 'move'];
  expect(all.toSorted()).toEqual(known.toSorted());
});

test('a move is in the audit of the database that it has filled, behind what it brings along', async () => {
  const from = present(here.env.DATABASE_URL);
  const before = await changes();
  expect(await type(`move --from ${from} --to sqlite:moved.db`)).toMatchObject({ code: 0 });
  const env = { DATABASE_URL: `sqlite:${join(here.directory, 'moved.db')}` };
  const [row, ...others] = await here.json(['audit'], { env });
  expect(row).toMatchObject({ what: 'move', filters: { from, to: 'sqlite:moved.db' } });
  expect(row.changed).toBeGreaterThan(before.length);
  expect(others).toEqual(before);
});
