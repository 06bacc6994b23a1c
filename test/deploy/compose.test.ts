import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseConfig } from '../../src/config.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { endAfterSuite } from '../support/left-behind.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { atFullSize } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { describeWith } from '../support/tools.ts';

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
    let directory: string;
    let port: number;
    let nginx: ChildProcess;
    let env: Readonly<Record<string, string>>;
    const receivers: ServiceProcess[] = [];

    beforeAll(async () => {
      name = await createDatabase(server);
      directory = await temporaryDirectory();
      port = await freePort();
      env = {
        DATABASE_URL: server.url(name),
        DATABASE_POOL: '3',
        SECRETS_KEY: SECRETS_KEY.toString('base64'),
        WEBHOOK_SECRET: SECRET,
        TRUST_PROXY: '1',
      };
      receivers.push(...(await Promise.all([1, 2, 3].map(() => startProcess(env)))));
      const pems = ['-keyout', join(directory, 'privkey.pem'), '-out', join(directory, 'fullchain.pem')];
      const certificate = [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '1',
        '-subj',
        '/CN=your.host',
      ];
      execFileSync('openssl', [...certificate, ...pems], { stdio: 'ignore' });
      const changes: [string, string][] = [
        ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
        ['  listen [::]:443 ssl;\n', ''],
        ['/etc/ssl/receiver/', `${directory}/`],
        ...receivers.map(({ url }, index): [string, string] => [
          `receiver-${index + 1}:3000`,
          new URL(url).host,
        ]),
      ];
      const here = changes.reduce((conf, [there, own]) => {
        expect(conf).toContain(there);
        return conf.replaceAll(there, own);
      }, shipped('nginx.conf'));
      const site = join(directory, 'conf.d', 'default.conf');
      mkdirSync(join(directory, 'conf.d'));
      writeFileSync(site, here);
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (place) => `${place}_temp_path ${directory}/${place};`,
      );
      const error = join(directory, 'error.log');
      const main = `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${error}; events {}
        http { access_log off; ${places.join(' ')} include ${site}; }`;
      writeFileSync(join(directory, 'nginx.conf'), main);
      nginx = spawn('nginx', ['-p', directory, '-e', error, '-c', join(directory, 'nginx.conf')], {
        stdio: 'ignore',
      });
      endAfterSuite(() => nginx.kill('SIGKILL'));
      await eventually('nginx listens', async () => (await ask('/healthz').catch(() => 0)) === 200);
    });
    afterAll(async () => {
      nginx.kill('SIGTERM');
      await once(nginx, 'exit');
      for (const { child } of receivers) child.kill('SIGKILL');
      await Promise.all(receivers.map(({ exited }) => exited));
      await dropDatabase(server, name);
    });

    interface Answer {
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly body: string;
    }

    function answerTo(path: string, media?: string): Promise<Answer> {
      const body = media && JSON.stringify(notification({ media_id: media }));
      return new Promise((resolve, reject) => {
        const sent = request(
          {
            ...{ host: '127.0.0.1', port, path, agent: false, servername: 'your.host' },
            ca: readFileSync(join(directory, 'fullchain.pem')),
            method: body ? 'POST' : 'GET',
            headers: body ? { authorization: `Bearer ${tokenOf(body, SECRET)}` } : {},
          },
          async (answer) => {
            const { statusCode: status = 0, headers } = answer;
            resolve({ status, retryAfter: headers['retry-after'], body: await text(answer) });
          },
        );
        sent.on('error', reject);
        sent.end(body);
      });
    }

    const ask = async (path: string, media?: string) => (await answerTo(path, media)).status;

    test('refuse and lose nothing, when one is killed and another stopped meanwhile', async () => {
      const statuses: number[] = [];
      const send = async (from: number) => {
        for (let n = from; n < from + 10; n++) statuses.push(await ask(PATH, `m${n}`));
      };
      await send(0);
      receivers[0]?.child.kill('SIGKILL');
      await send(10);
      receivers[1]?.child.kill('SIGTERM');
      await send(20);
      expect(statuses).toEqual(statuses.map(() => 200));
      const count = () =>
        connected(server.url(name), async (client) => {
          const { rows } = await client.query('SELECT count(*)::integer AS n FROM hookkit.events');
          return rows[0].n;
        });
      expect(await count()).toBe(30);
      await Promise.all([ask(PATH, 'm5'), ask(PATH, 'm15')]);
      expect(await count()).toBe(30);
    });

    const restarted = async (at: number) => {
      const port = new URL(receivers[at]?.url ?? '').port;
      receivers[at]?.child.kill('SIGTERM');
      await receivers[at]?.exited;
      receivers[at] = await startProcess({ ...env, PORT: port });
    };

    test('are asked for every notification, when all three were away a moment ago, and say so while they are', async () => {
      for (const { child } of receivers) child.kill('SIGKILL');
      await Promise.all(receivers.map(({ exited }) => exited));
      const refused = await Promise.all(['a', 'b', 'c', 'd'].map((media) => answerTo(PATH, media)));
      expect(refused).toEqual(
        refused.map(() => ({ status: 503, retryAfter: '5', body: '{"error":"not recorded"}' })),
      );
      await restarted(1);
      for (let n = 40; n < 46; n++) expect(await ask(PATH, `m${n}`)).toBe(200);
    });

    atFullSize(test)('refuse nothing, when they are restarted one after the other, three times', async () => {
      for (const at of [0, 1, 2]) await restarted(at);
      const statuses: number[] = [];
      let isOver = false;
      const sending = (async () => {
        for (let n = 100; !isOver; n++) statuses.push(await ask(PATH, `m${n}`));
      })();
      for (let round = 0; round < 3; round++) for (const at of [0, 1, 2]) await restarted(at);
      isOver = true;
      await sending;
      expect(statuses.length).toBeGreaterThan(50);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
    });

    atFullSize(test)('acknowledge all, when one of them stands still', async () => {
      for (const at of [0, 1, 2]) await restarted(at);
      receivers[1]?.child.kill('SIGSTOP');
      const sentAt = performance.now();
      const answers = [200, 201, 202, 203, 204, 205].map((n) => ask(PATH, `m${n}`));
      expect(await Promise.all(answers)).toEqual(answers.map(() => 200));
      expect(performance.now() - sentAt).toBeGreaterThan(5000); // it was asked, too
      receivers[1]?.child.kill('SIGCONT');
    });

    test('show nothing else to the internet, when it asks', async () => {
      for (const path of ['/', '/readyz', '/metrics', '/api/stats']) expect(await ask(path)).toBe(404);
    });
  });
});
