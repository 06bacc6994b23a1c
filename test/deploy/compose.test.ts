import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseConfig } from '../../src/config.ts';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { describeWith } from '../support/tools.ts';
import { NginxHere } from './nginx-here.ts';

const shipped = (file: string) =>
  readFileSync(new URL(`../../deploy/compose/${file}`, import.meta.url), 'utf8');
const compose = shipped('compose.yaml');

test('sets variables that are valid, when receivers are started as deploy/compose/ has it', () => {
  const [, block = ''] = /^ {2}environment:\n((?: {4}.*\n)+)/m.exec(compose) ?? [];
  const given = Object.fromEntries(
    [...block.matchAll(/^ {4}(\w+): "?([^"\n]*)"?$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  expect(Object.keys(given).toSorted()).toEqual([
    ...['DATABASE_POOL', 'DATABASE_URL', 'PGPASSWORD', 'PROVIDER_API_SECRET', 'SECRETS_KEY', 'TRUST_PROXY'],
  ]);
  const env = { ...given, SECRETS_KEY: SECRETS_KEY.toString('base64') };
  expect(parseConfig(env)).toMatchObject({ TRUST_PROXY: 1, DATABASE_POOL: 10, ...{ PORT: 3000 } });
  // Whoever reads the file, the process list or `docker inspect` of the image finds no password.
  for (const name of ['PGPASSWORD', 'PROVIDER_API_SECRET', 'SECRETS_KEY'])
    expect(given[name]).toMatch(/^\$\{\w+:\?\}$/);
});

test('names the same receivers, when both files of deploy/compose/ name them', () => {
  const services = [...compose.matchAll(/^ {2}(receiver-\d): \*receiver$/gm)].map(([, name]) => name);
  const upstream = [...shipped('nginx.conf').matchAll(/^ {2}server (receiver-\d):3000 /gm)];
  expect(services).toHaveLength(3);
  expect(upstream.map(([, name]) => name)).toEqual(services);
});

describeWithPostgres('three receivers on one PostgreSQL', (server) => {
  describeWith('nginx', 'behind nginx, with the file in deploy/compose/', () => {
    let name: string;
    let nginx: NginxHere;
    let env: Readonly<Record<string, string>>;
    const receivers: ServiceProcess[] = [];

    beforeAll(async () => {
      name = await createDatabase(server);
      env = {
        DRAIN_MS: '3000',
        DATABASE_URL: server.url(name),
        DATABASE_POOL: '3',
        SECRETS_KEY: SECRETS_KEY.toString('base64'),
        WEBHOOK_SECRET: SECRET,
        TRUST_PROXY: '1',
      };
      receivers.push(...(await Promise.all([1, 2, 3].map(() => startProcess(env)))));
      const hosts = receivers.map(({ url }, index): [string, string] => [
        `receiver-${index + 1}:3000`,
        new URL(url).host,
      ]);
      nginx = await NginxHere.prepare(shipped('nginx.conf'), hosts);
      await nginx.start();
    });
    afterAll(async () => {
      await nginx.stop();
      for (const { child } of receivers) child.kill('SIGKILL');
      await Promise.all(receivers.map(({ exited }) => exited));
      await dropDatabase(server, name);
    });

    const send = (media: string) => {
      const body = JSON.stringify(notification({ media_id: media }));
      const headers = { authorization: `Bearer ${tokenOf(body, SECRET)}` };
      return nginx.ask(PATH, { method: 'POST', headers, body });
    };
    const statusOf = async (media: string) => (await send(media)).status;

    test('refuse and lose nothing, when one is killed and another stopped meanwhile', async () => {
      const statuses: number[] = [];
      const sendTen = async (from: number) => {
        for (let n = from; n < from + 10; n++) statuses.push(await statusOf(`m${n}`));
      };
      await sendTen(0);
      receivers[0]?.child.kill('SIGKILL');
      await sendTen(10);
      receivers[1]?.child.kill('SIGTERM');
      await sendTen(20);
      expect(statuses).toEqual(statuses.map(() => 200));
      const count = () =>
        connected(server.url(name), async (client) => {
          const { rows } = await client.query('SELECT count(*)::integer AS n FROM hookkit.events');
          return rows[0].n;
        });
      expect(await count()).toBe(30);
      await Promise.all([send('m5'), send('m15')]);
      expect(await count()).toBe(30);
    });

    test('are asked for every notification, when all three were away a moment ago, and say so while they are', async () => {
      for (const { child } of receivers) child.kill('SIGKILL');
      await Promise.all(receivers.map(({ exited }) => exited));
      const refused = await Promise.all(['a', 'b', 'c', 'd'].map(send));
      expect(refused).toEqual(
        refused.map(() => ({ status: 503, retryAfter: '5', body: '{"error":"not recorded"}' })),
      );
      receivers[1] = await startProcess({ ...env, PORT: new URL(receivers[1]?.url ?? '').port });
      for (let n = 40; n < 46; n++) expect(await statusOf(`m${n}`)).toBe(200);
    });

    test('show nothing else to the internet, when it asks', async () => {
      for (const path of ['/', '/readyz', '/metrics', '/api/stats'])
        expect((await nginx.ask(path)).status).toBe(404);
    });
  });
});
