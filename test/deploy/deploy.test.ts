import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { parseConfig } from '../../src/config.ts';
import { isOwnHost } from '../../src/inspector/admin-app.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { notification, PATH, SECRET } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { endAfterSuite } from '../support/left-behind.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { runCli } from '../support/run-cli.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { describeWith } from '../support/tools.ts';

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Starts nginx with a site of deploy/, whose ports and paths are changed to some of this machine. It ends with the suite.
 * @param receivers what the site names, and where that is here
 * @returns what sends a request as a client of the internet does
 */
async function startNginx(shipped: string, receivers: readonly [string, string][]) {
  const directory = await temporaryDirectory();
  const port = await freePort();
  const pems = ['-keyout', join(directory, 'privkey.pem'), '-out', join(directory, 'fullchain.pem')];
  const certificate = 'req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=your.host'.split(' ');
  execFileSync('openssl', [...certificate, ...pems], { stdio: 'ignore' });
  const changes: [string, string][] = [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['  listen [::]:443 ssl;\n', ''],
    ['/etc/ssl/receiver/', `${directory}/`],
    ...receivers,
  ];
  const site = changes.reduce((conf, [there, here]) => {
    expect(conf).toContain(there);
    return conf.replaceAll(there, here);
  }, shipped);
  writeFileSync(join(directory, 'site.conf'), site);
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${directory}/${name};`,
  );
  const main = `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log; events {}
    http { access_log off; ${places.join(' ')} include ${directory}/site.conf; }`;
  writeFileSync(join(directory, 'nginx.conf'), main);
  const nginx = spawn('nginx', ['-p', directory, '-c', join(directory, 'nginx.conf')], { stdio: 'ignore' });
  endAfterSuite(() => nginx.kill());
  const ca = readFileSync(join(directory, 'fullchain.pem'));
  const to = { host: '127.0.0.1', port, agent: false, servername: 'your.host', ca };
  const ask = async (path: string, { body, ...sent }: Sent = {}) => {
    const [answer] = await once(request({ ...to, path, ...sent }).end(body), 'response');
    const { statusCode: status, headers } = answer;
    return { status, retryAfter: headers['retry-after'], body: await text(answer) };
  };
  const isUp = () => ask('/healthz').then(({ status }) => status === 200);
  await eventually('nginx listens', () => isUp().catch(() => false));
  return ask;
}

const read = (file: string) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const shipped = (file: string) => read(`deploy/compose/${file}`);
const { services } = parse(shipped('compose.yaml'), { merge: true });
const [deployment, front] = parseAllDocuments(read('deploy/kubernetes/receiver.yaml')).map((one) =>
  one.toJS(),
);
const pod = deployment.spec.template.spec;
const RECEIVERS = ['receiver-1', 'receiver-2', 'receiver-3'];
const SECRETS = { SECRETS_KEY: SECRETS_KEY.toString('base64'), ADMIN_TOKEN: 'an-admin-token-of-this-test' };

test.each(RECEIVERS)('takes all of .env, and adds what is valid, when compose.yaml starts %s', (name) => {
  const { environment: given, ...service } = services[name];
  expect(service).toMatchObject({ env_file: '.env', mem_limit: '1g', ulimits: { nofile: 65536 } });
  expect(service).not.toHaveProperty('ports');
  const config = parseConfig({ ...given, ...SECRETS });
  expect(config).toMatchObject({ TRUST_PROXY: 1, PORT: 3000, ADMIN_PORT: 3001, INSTANCE_NAME: name });
  for (const host of [name, '172.18.0.5', '127.0.0.1']) expect(isOwnHost(`${host}:3001`, config)).toBe(true);
  expect(isOwnHost('elsewhere:3001', config)).toBe(false);
  expect(given.INSTANCES).toBe(String(RECEIVERS.length));
  // Whoever reads the file, the process list or `docker inspect` of the image finds no password; without one, nothing starts.
  for (const secret of ['PGPASSWORD', ...Object.keys(SECRETS)])
    expect(given[secret]).toMatch(/^\$\{\w+:\?\}$/);
});

test('lets no job but the one that publishes ask for a token, and takes fixed actions, when a version is tagged', () => {
  const { permissions, jobs } = parse(read('.github/workflows/release.yml'));
  const { check, publish } = jobs;
  expect([permissions, check.permissions, publish.needs]).toEqual([{ contents: 'read' }, undefined, 'check']);
  expect(publish.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  const steps = [...check.steps, ...publish.steps].filter(({ uses }) => uses);
  for (const { uses } of steps) expect(uses).toMatch(/@[0-9a-f]{40}$/);
});

test('names the same receivers, and keeps short logs of all, when both files of deploy/compose/ are compared', () => {
  const upstream = [...shipped('nginx.conf').matchAll(/^ {2}server (receiver-\d):3000 /gm)];
  expect(upstream.map(([, name]) => name)).toEqual(RECEIVERS);
  expect(Object.keys(services).toSorted()).toEqual(['postgres', 'proxy', ...RECEIVERS]);
  for (const name in services)
    expect(services[name].logging.options).toEqual({ 'max-size': '50m', 'max-file': '5' });
});

test('starts receivers that may do little, with valid settings, when Kubernetes gets the manifest', () => {
  expect([deployment.kind, front.kind]).toEqual(['Deployment', 'Service']);
  const { metadata, spec } = deployment.spec.template;
  const [{ env, ports, ...container }] = spec.containers;
  for (const { matchLabels: labels } of [deployment.spec.selector, { matchLabels: front.spec.selector }])
    expect(metadata.labels).toEqual(labels);
  const given = Object.fromEntries(env.map((one: { name: string; value?: string }) => [one.name, one.value]));
  expect(given.INSTANCES).toBe(String(deployment.spec.replicas));
  const config = parseConfig({ ...given, ...SECRETS, INSTANCE_NAME: 'receiver-6c9f7d5b8-x2x7q' });
  const listening = [config.PORT, config.ADMIN_PORT];
  expect(ports.map((port: { containerPort: number }) => port.containerPort)).toEqual(listening);
  expect(isOwnHost('10.0.3.7:3001', config)).toBe(true);
  expect(container).toMatchObject({
    envFrom: [{ secretRef: { name: 'receiver' } }],
    readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' } },
    resources: { limits: { memory: '1Gi' } },
  });
  // It refuses an image whose user has a name.
  expect(pod.securityContext.runAsNonRoot).toBe(true);
  for (const file of ['Dockerfile', 'templates/app/Dockerfile'])
    expect([...read(file).matchAll(/^USER (.*)$/gm)].at(-1)?.[1]).toBe('1000:1000');
});

describeWith('promtool', 'the rules in docs/monitoring/', () => {
  test('raise and end alerts, when what they name comes and goes', () => {
    const args = ['test', 'rules', 'test/deploy/alerts.test.yml'];
    const { stdout, stderr, status } = spawnSync('promtool', args, { encoding: 'utf8' });
    expect({ said: stdout + stderr, status }).toEqual({
      said: expect.stringContaining('SUCCESS'),
      status: 0,
    });
  });
});

test('every alert has its test, when the rules are compared with what tests them', () => {
  const rules = read('docs/monitoring/alerts.yml').matchAll(/^ +- alert: (\w+)$/gm);
  const tested = new Set(read('test/deploy/alerts.test.yml').match(/\bWebhook\w+/g));
  expect(new Set(Array.from(rules, ([, name]) => name))).toEqual(tested);
});

describeWithPostgres('three receivers on one PostgreSQL', (server) => {
  describeWith('nginx', 'behind nginx, with the file in deploy/compose/', () => {
    let name: string;
    let ask: Awaited<ReturnType<typeof startNginx>>;
    const receivers: ServiceProcess[] = [];

    beforeAll(async () => {
      name = await createDatabase(server);
      const env = {
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
      ask = await startNginx(shipped('nginx.conf'), hosts);
    });
    afterAll(async () => {
      for (const { child } of receivers) child.kill('SIGKILL');
      await Promise.all(receivers.map(({ exited }) => exited));
      await dropDatabase(server, name);
    });

    const send = (media: string) => {
      const body = JSON.stringify(notification({ media_id: media }));
      const headers = { authorization: `Bearer ${tokenOf(body, SECRET)}` };
      return ask(PATH, { method: 'POST', headers, body });
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

    test('show nothing else to the internet, when it asks, and say when to come again, once all are away', async () => {
      for (const path of ['/', '/readyz', '/metrics', '/api/stats'])
        expect((await ask(path)).status).toBe(404);
      receivers[2]?.child.kill('SIGKILL');
      await Promise.all(receivers.map(({ exited }) => exited));
      expect(await send('a')).toEqual({ status: 503, retryAfter: '5', body: '{"error":"not recorded"}' });
    });
  });
});

const shippedNginx = read('deploy/nginx/receiver.conf');

/** A notification of so many bytes, signed. */
function sized(size: number, secret = SECRET): Sent {
  const short = JSON.stringify(notification({ media_id: `m${size}`, note: '' }));
  const body = short.replace('"note":""', `"note":"${'x'.repeat(size - short.length)}"`);
  expect(body).toHaveLength(size);
  return { method: 'POST', headers: { authorization: `Bearer ${tokenOf(body, secret)}` }, body };
}

describeWith('nginx', 'nginx in front of a receiver, with the file in deploy/nginx/', () => {
  let inspected: Inspected;
  let ask: Awaited<ReturnType<typeof startNginx>>;

  beforeAll(async () => {
    inspected = await inspect({}, { TRUST_PROXY: '1', REJECT_LIMIT: '5' });
    ask = await startNginx(shippedNginx, [['127.0.0.1:3000', `127.0.0.1:${inspected.service.port}`]]);
  });

  test.each([
    ['the largest, with a token of 87 KB', 65_536, 200],
    ['too large by a byte', 65_537, 413],
  ])('hands a notification on, or refuses it, when it is %s', async (_what, size, status) => {
    const answer = await ask(PATH, sized(size));
    expect(answer.status).toBe(status);
    if (status !== 200) return;
    const { status: recorded, id } = JSON.parse(answer.body);
    expect(recorded).toBe('accepted');
    expect((await inspected.api(`/events/${id}`)).request).toMatch(/^[0-9a-f]{32}$/);
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

  test('leads to nothing else, when other paths are asked for', async () => {
    for (const path of ['/', '/readyz', '/metrics', '/api/stats', `${PATH}/`, `${PATH}x`])
      expect((await ask(path)).status).toBe(404);
  });

  test('says that nothing was recorded, and when to try again, when the receiver is away', async () => {
    await inspected.dispose();
    for (const size of [600, 65_536])
      expect(await ask(PATH, sized(size))).toEqual({
        status: 503,
        retryAfter: '5',
        body: '{"error":"not recorded"}',
      });
  });
});

describe('with systemd,', () => {
  const unit = read('deploy/systemd/receiver.service');
  const directory = mkdtempSync(join(tmpdir(), 'hookkit-unit-'));

  /** What systemd says of a unit. */
  function analyze(text: string, ...args: readonly string[]): { said: string; code: number | null } {
    const file = join(directory, 'receiver.service');
    writeFileSync(file, text);
    const { stdout, stderr, status } = spawnSync('systemd-analyze', [...args, file], { encoding: 'utf8' });
    return { said: stdout + stderr, code: status };
  }

  describeWith('systemd-analyze', 'the unit in deploy/systemd/', () => {
    test('is whole, when systemd verifies it', () => {
      // Where Node.js lies is another matter on every machine.
      const here = unit.replace('ExecStart=node ', `ExecStart=${process.execPath} `);
      expect(here).not.toBe(unit);
      expect(analyze(here, 'verify', '--man=no')).toEqual({ said: '', code: 0 });
      expect(analyze(here.replace('ProtectSystem=strict', 'ProtectSystem=strikt'), 'verify').said).not.toBe(
        '',
      );
    });

    test('lets the service do little, when systemd rates it: 2.0 of 10 at most', () => {
      const { said } = analyze(unit, 'security', '--offline=true');
      const [, rating] = /Overall exposure level for receiver\.service: ([\d.]+)/.exec(said) ?? [];
      expect(Number(rating)).toBeLessThanOrEqual(2);
      expect(Number(rating)).toBeGreaterThan(0);
    });
  });

  test.each<[string, number, Record<string, string>]>([
    ['no more, when its settings are wrong', 2, { PORT: 'x' }],
    ['again, when its database is away', 1, { ...SECRETS, DATABASE_URL: 'postgres://hookkit@127.0.0.1:1/x' }],
  ])('the unit starts the service %s', async (_when, code, env) => {
    expect(unit).toMatch(/^Restart=always\nRestartSec=1\n.*\nRestartPreventExitStatus=2$/m);
    expect((await runCli(['serve'], { env })).code).toBe(code);
  });

  test('the unit is started at boot and gives the service the time that it needs to stop', () => {
    expect(unit).toMatch(/^\[Install\]\nWantedBy=multi-user\.target$/m);
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
    const { DRAIN_MS, SHUTDOWN_GRACE_MS } = parseConfig({});
    const closing = 2000;
    expect(seconds * 1000).toBeGreaterThan(DRAIN_MS + SHUTDOWN_GRACE_MS + closing);
    for (const name of RECEIVERS) expect(services[name].stop_grace_period).toBe(`${seconds}s`);
    expect(pod.terminationGracePeriodSeconds).toBe(seconds);
  });
});
