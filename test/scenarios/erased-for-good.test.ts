import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { erasedName } from '../../src/store/stored.ts';
import { databaseForEachTest, testOfFiles } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { callCli, runCli } from '../support/run-cli.ts';
import { runService } from '../support/running-service.ts';
import { startProcess } from '../support/service-process.ts';

const NUMBER = 987_654_321;
const PRIVATE = `media${NUMBER}`;
const KINDS = ['media_available', 'media_updated', 'media_created'];

const database = databaseForEachTest();

testOfFiles(
  'no file of SQLite has what was erased, beside a server that goes on, and repeats of it are known',
  async () => {
    const env = { ...database().env, WEBHOOK_SECRET: SECRET };
    // In a process of its own: whoever reads files of a database that SQLite has open here takes its locks away.
    const { url } = await startProcess(env);
    const repeated = (number: number) => bodyOf(number % 60, NUMBER, KINDS[number % 3]);
    const statuses = new Set<number>();
    let [isOn, sent] = [true, 0];
    const sending = async (body: (number: number) => string) => {
      for (let number = 0; isOn; number++, sent++) statuses.add((await deliver(url, body(number))).status);
    };
    const load = [sending(bodyOf), sending((number) => bodyOf(1_000_000 + number)), sending(repeated)];
    await eventually('all are there', async () => sent > 600);
    const found = () => {
      const { directory } = database();
      return readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(PRIVATE));
    };
    const before = found();
    const run = await runCli(['erase', '--media', PRIVATE, '--json'], { env });
    const after = found();
    isOn = false;
    await Promise.all(load);
    expect([before.length > 0, after]).toEqual([true, []]);
    expect([run.code, JSON.parse(run.stdout)]).toMatchObject([0, { events: 18, running: 0 }]);
    expect([...statuses]).toEqual([200]);
    expect(await (await deliver(url, repeated(1))).json()).toMatchObject({ status: 'duplicate' });
    expect(found()).toEqual([]);
  },
);

test('tells what it would erase, what it has erased and left, and where else it may be, and notes who did it', async () => {
  const { env } = database();
  const service = await runService({}, { ...env, WEBHOOK_SECRET: SECRET });
  await deliver(service.url, bodyOf(1, NUMBER));
  await deliver(service.url, bodyOf(2, NUMBER).replace('site0001', 'site0002'));
  await deliver(service.url, bodyOf(3));
  await deliver(service.url, bodyOf(4), 'another-secret');
  await service.stop();
  const erase = (...args: string[]) => callCli(['erase', ...args], { env });
  for (const args of [[], ['--site', 'a', '--media', 'b'], ['--media', '']])
    expect(await erase(...args)).toMatchObject({ code: 2, stdout: '' });
  const trial = await erase('--site', 'site0001', '--dry-run', '--json');
  const told = { events: 1, quarantined: 1, running: 0, shared: [`media:${PRIVATE}`] };
  expect(JSON.parse(trial.stdout)).toEqual({ ...told, dry_run: true });
  const run = await erase('--site', 'site0001');
  expect([run.code, run.stdout]).toEqual([0, '1 event and 1 in quarantine erased\n']);
  expect(run.stderr).toContain(`left alone, as other sites have events of them: media:${PRIVATE}\n`);
  expect(run.stderr).toMatch(/not reached: backups, .* dead rows until a vacuum/s);
  const store = await database().open();
  const [change] = await store.reports.changes({ limit: 5 });
  expect(change).toMatchObject({ what: 'erase', changed: 1, who: expect.stringContaining('@') });
  expect(JSON.parse(change?.filters ?? '')).toEqual({ site: erasedName('site:site0001') });
});
