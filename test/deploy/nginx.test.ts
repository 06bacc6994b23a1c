import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { listeningOn } from '../mock/support/listening.ts';
import { eventually } from '../support/eventually.ts';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { describeWith } from '../support/tools.ts';

const shipped = readFileSync(new URL('../../deploy/nginx/receiver.conf', import.meta.url), 'utf8');

/** What the file is put into: paths of its own, so that nginx runs beside another one and as any user. */
const around = (directory: string, included: string) => `
daemon off;
worker_processes 1;
pid ${directory}/pid;
error_log ${directory}/error.log;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${directory}/${name};`).join('\n  ')}
  include ${included};
}
`;

describeWith('nginx', 'nginx, with the file in deploy/nginx/', () => {
  let directory: string;
  let inspected: Inspected;
  let isAway = false;
  let nginx: ChildProcess | undefined;
  let port: number;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    inspected = await inspect({}, { TRUST_PROXY: '1', REJECT_LIMIT: '5' });
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=your.host'].concat([
        '-keyout',
        join(directory, 'privkey.pem'),
        '-out',
        join(directory, 'fullchain.pem'),
      ]),
      { stdio: 'ignore' },
    );
    const free = await listeningOn(createServer());
    port = Number(new URL(free.url).port);
    await free.close();
    mkdirSync(join(directory, 'conf.d'));
    const changes: [string, string][] = [
      ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
      ['  listen [::]:443 ssl;\n', ''],
      ['/etc/ssl/receiver/', `${directory}/`],
      ['127.0.0.1:3000', `127.0.0.1:${inspected.service.port}`],
    ];
    const here = changes.reduce((conf, [there, own]) => {
      expect(conf).toContain(there);
      return conf.replaceAll(there, own);
    }, shipped);
    writeFileSync(join(directory, 'conf.d', 'receiver.conf'), here);
    writeFileSync(join(directory, 'nginx.conf'), around(directory, join(directory, 'conf.d', '*.conf')));
  });
  afterAll(async () => {
    if (nginx?.exitCode === null) {
      nginx.kill('SIGTERM');
      await once(nginx, 'exit');
    }
    if (!isAway) await inspected.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (...args: string[]) =>
    spawn('nginx', [
      '-p',
      directory,
      '-e',
      join(directory, 'error.log'),
      '-c',
      join(directory, 'nginx.conf'),
      ...args,
    ]);

  test('finds nothing to say against it, when it is asked to test it', async () => {
    const checking = run('-t');
    const [said, [code]] = await Promise.all([text(checking.stderr), once(checking, 'exit')]);
    expect(said).not.toMatch(/warn|emerg|error\]/);
    expect(code).toBe(0);
  });

  describe('in front of a receiver', () => {
    beforeAll(async () => {
      nginx = run();
      await eventually(
        'nginx listens',
        async () => (await ask('/healthz').catch(() => undefined))?.status === 200,
      );
    });

    interface Sent {
      readonly method?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly pieces?: number;
    }

    interface Told {
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly body: string;
    }

    /** Sends a request as a client of the internet does; its body in so many pieces, each in a record of TLS. */
    function ask(path: string, { method = 'GET', headers = {}, body = '', pieces = 1 }: Sent = {}) {
      return new Promise<Told>((resolve, reject) => {
        const sent = request(
          {
            host: '127.0.0.1',
            port,
            path,
            method,
            headers,
            agent: false,
            ca: certificate(),
            servername: 'your.host',
          },
          async (answer) =>
            resolve({
              status: answer.statusCode ?? 0,
              retryAfter: answer.headers['retry-after'],
              body: await text(answer),
            }),
        );
        sent.on('error', reject);
        sent.setNoDelay();
        sent.setHeader('Content-Length', Buffer.byteLength(body));
        const size = Math.ceil(body.length / pieces);
        const next = (from: number): void => {
          if (from >= body.length) return void sent.end();
          sent.write(body.slice(from, from + size), () => setImmediate(next, from + size));
        };
        next(0);
      });
    }

    const certificate = () => readFileSync(join(directory, 'fullchain.pem'));

    /** A notification of so many bytes, signed. */
    function sized(size: number, secret = SECRET): Sent {
      const short = JSON.stringify(notification({ media_id: `m${size}`, note: '' }));
      const body = short.replace('"note":""', `"note":"${'x'.repeat(size - short.length)}"`);
      expect(body).toHaveLength(size);
      return { method: 'POST', headers: { authorization: `Bearer ${tokenOf(body, secret)}` }, body };
    }

    test.each([
      ['small', 1000, 1, 200],
      ['the largest, with a token of 87 KB', 65_536, 1, 200],
      ['from a slow client', 60_000, 300, 200],
      ['too large by a byte', 65_537, 1, 413],
    ])('hands a notification on, or refuses it, when it is %s', async (_what, size, pieces, status) => {
      const answer = await ask(PATH, { ...sized(size), pieces });
      expect(answer.status).toBe(status);
      if (status === 200) expect(JSON.parse(answer.body).status).toBe('accepted');
    });

    test('tells who sends, when senders claim to be others: they are throttled as the one that they are', async () => {
      const statuses: number[] = [];
      for (let n = 0; n < 8; n++) {
        const { headers, ...rest } = sized(500 + n, 'the-wrong-secret');
        const forged = { ...headers, 'x-forwarded-for': `203.0.113.${n}` };
        statuses.push((await ask(PATH, { ...rest, headers: forged })).status);
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
      const { rejections } = await inspected.api('/rejections');
      expect(new Set(rejections.map(({ source }: { source: string }) => source))).toEqual(
        new Set(['127.0.0.1']),
      );
      expect((await ask(PATH, sized(600))).status).toBe(200);
    });

    test.each(['/', '/readyz', '/metrics', '/api/stats', `${PATH}/`, `${PATH}x`])(
      'leads to nothing else, when %s is asked for',
      async (path) => {
        expect((await ask(path)).status).toBe(404);
      },
    );

    test('says that nothing was recorded, and when to try again, when the receiver is away', async () => {
      await inspected.dispose();
      isAway = true;
      for (const size of [600, 65_536]) {
        const { status, retryAfter, body } = await ask(PATH, sized(size));
        expect({ status, retryAfter, body: JSON.parse(body) }).toEqual({
          status: 503,
          retryAfter: '5',
          body: { error: 'not recorded' },
        });
      }
    });
  });
});
