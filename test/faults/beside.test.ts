import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { connected, SECRETS_KEY } from '../support/postgres-databases.ts';
import { startProcess } from '../support/service-process.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasPackages, mustRunIn } from '../support/with-npm.ts';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const byNumbers = (a: string, b: string) => a.localeCompare(b, 'en', { numeric: true });
const isFirst = byNumbers(version, '1.0.1') < 0;
if (isFirst) process.stdout.write(`skipped: there is no release before ${version} to run beside it\n`);

/** The version of the newest release before this one. */
function lastRelease(): string {
  const tags = mustRunIn(root, 'git tag').match(/^v\d+\.\d+\.\d+$/gm) ?? [];
  const last = tags.toSorted(byNumbers).findLast((tag) => byNumbers(tag, `v${version}`) < 0);
  if (last) return last.slice(1);
  throw new Error(`no tag of a release before ${version} is here: run git fetch --tags, or tag that release`);
}

const SECRETS = { SECRETS_KEY: SECRETS_KEY.toString('base64'), WEBHOOK_SECRET: SECRET };
const MEDIA = 20;
const EVENTS = Array.from({ length: 5 * MEDIA }, (_, number) => number % MEDIA); // of each event its media
const HANDLERS = `export const handlers = {
  async media_available(event, ctx) {
    const nth = 1 + Number(ctx.state.get('events') ?? 0);
    ctx.state.set('events', await ctx.once('count', () => nth));
    ctx.log.info({ nth }, 'counted');
  } };`;
const FAULTS = /^.*"level":"(warn|error|fatal)".*$/gm;
const COUNTED = /"resource":"media:media(\d+)".*"nth":(\d+)/g;

describeWithPostgres('a receiver of the last release and one of this version, on one database', (server) => {
  const testBeside = isFirst || !hasPackages ? test.skip : test;
  let place: string;
  let former: string;
  beforeAll(async () => {
    place = await temporaryDirectory();
    former = lastRelease();
    mustRunIn(place, `git clone --quiet --branch v${former} ${root} clone && mkdir app`);
    mustRunIn(join(place, 'clone'), `npm ci && npm pack --pack-destination ${place}`);
    mustRunIn(join(place, 'app'), `npm install ../webhook-receiver-kit-${former}.tgz`);
    writeFileSync(join(place, 'handlers.mjs'), HANDLERS);
    await connected(server.adminUrl(), (admin) => admin.query('CREATE DATABASE beside'));
  });

  testBeside.each([
    ['SQLite', () => `sqlite:${join(place, 'receiver.db')}`],
    ['PostgreSQL', () => server.adminUrl('beside')],
  ])('handle each event once, and tell no fault, on %s', async (_, database) => {
    const env = { ...SECRETS, DATABASE_URL: database(), HANDLERS: join(place, 'handlers.mjs') };
    // The older one makes the tables; the newer one brings them up to date while the older one goes on.
    const cli = join(place, 'app/node_modules/webhook-receiver-kit/bin/hookkit.js');
    const older = await startProcess({ ...env, INSTANCE_NAME: 'older' }, place, cli);
    const newer = await startProcess({ ...env, INSTANCE_NAME: 'newer' }, place);
    const both = [older, newer];
    const faults = () => both.flatMap(({ output }) => output().match(FAULTS) ?? []);
    for (const [number, media] of EVENTS.entries())
      for (const [at, status] of ['accepted', 'duplicate'].entries()) {
        const answer = await deliver(both[(number + at) % 2]?.url ?? '', bodyOf(number, media));
        expect([await answer.json(), ...faults()]).toMatchObject([{ status }]);
      }

    for (const { output } of both) {
      const admin = /"url":"(http:[^"]+)","msg":"inspecting"/.exec(output())?.[1];
      const stats = async () => JSON.parse(await (await fetch(`${admin}/api/stats`)).text());
      await eventually('all is handled', async () => {
        expect(faults()).toEqual([]);
        return (await stats()).last_10_minutes.handled === EVENTS.length;
      });
      const { events, concerns, instances } = await stats();
      expect([events, concerns]).toEqual([{ pending: 0, running: 0, dead: 0 }, []]);
      expect(instances).toMatchObject([{ version }, { version: former }]); // by name: newer, older
    }
    for (const one of both) await one.stop();
    expect(faults()).toEqual([]);
    const counted = both.map(({ output }) =>
      Array.from(output().matchAll(COUNTED), ([, media, nth]) => `${media} ${nth}`),
    );
    const wanted = EVENTS.map((media, number) => `${media} ${1 + Math.floor(number / MEDIA)}`);
    expect(counted).not.toContainEqual([]);
    expect(counted.flat().toSorted()).toEqual(wanted.toSorted());
  });
});
