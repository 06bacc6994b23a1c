import { createServer } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { listeningOn } from '../mock/support/listening.ts';
import { DEAD, settleAll } from '../support/claiming.ts';
import { inColumn } from '../support/engine.ts';
import { deskForEachTest, ndjson, SECRET } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { PATH } from '../support/genuine.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { tokenOf } from '../support/hs256.ts';
import { runCli, spawnCli } from '../support/run-cli.ts';
import { verifiedBody } from '../support/verified-notification.ts';

const desk = deskForEachTest();
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const BODY = {
  event: `media_${SPOOF}`,
  webhook_id: `w${SPOOF}`,
  site_id: `s${SPOOF}`,
  media_id: `m${SPOOF}`,
  event_time: '2026-01-01T00:00:00+00:00',
  [SPOOF]: SPOOF,
};

/** As a store may hold it that an earlier version has written. */
const notification = {
  ...verifiedBody(BODY),
  kind: BODY.event,
  webhookId: BODY.webhook_id,
  siteId: BODY.site_id,
  resource: `media:${BODY.media_id}`,
};

/** What a command prints has nothing hostile in it, and something of what it was made from. */
async function printed(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr, code } = await runCli(args, {
    env: { ...desk().env, ...env },
    cwd: desk().directory,
  });
  expect({ args, hostile: hostileIn(stdout + stderr) }).toEqual({ args, hostile: [] });
  return { stdout, stderr, code };
}

test('is visible, when events and quarantine are shown, to people as escapes and to programs as it was', async () => {
  const store = await desk().store();
  const { id } = await store.record(notification);
  await settleAll(store, { ...DEAD, error: `broken ${SPOOF}\nat ${SPOOF}` });
  await store.quarantine({ ...notification, token: 'x.y.z', source: `192.0.2.1${SPOOF}` }, 1_000_000);
  for (const args of [
    ['events', 'list'],
    ['events', 'show', id],
    ['quarantine', 'list'],
    ['events', 'replay', '--all', '--dry-run'],
    ['handlers', 'try', id],
  ]) {
    expect((await printed(args)).stdout).toContain('\\u202e');
  }
  const [listed] = ndjson((await printed(['events', 'list', '--json'])).stdout);
  expect(listed).toMatchObject({
    kind: inColumn(BODY.event),
    webhook_id: inColumn(BODY.webhook_id),
    body: notification.body,
  });
  const shown = JSON.parse((await printed(['events', 'show', id, '--json'])).stdout);
  expect(shown.last_error).toBe(inColumn(`broken ${SPOOF}\nat ${SPOOF}`));
  const [waiting] = JSON.parse((await printed(['quarantine', 'list', '--json'])).stdout);
  expect(waiting).toMatchObject({
    kind: inColumn(BODY.event),
    source: inColumn(`192.0.2.1${SPOOF}`),
    body: notification.body,
  });
  const [exported] = ndjson((await printed(['events', 'export'])).stdout);
  expect(exported.body).toBe(notification.body);
  await printed(['events', 'export', '--out', desk().path('day.ndjson')]);
  const [line] = desk().lines('day.ndjson');
  expect(line).toEqual(exported);
});

test('is visible, when it stands in an argument, a file or an answer that an error tells of', async () => {
  const mistakes = [
    ['events', 'show', SPOOF.replace('\0', '')],
    ['events', `--nonsense${SPOOF}`],
    [SPOOF],
    ['events', 'list', '--site', SPOOF, '--kind', SPOOF],
    ['webhooks', 'import', '--id', 'x', '--secret-file', `${SPOOF}`],
    ['mock', '--name', SPOOF],
  ];
  for (const args of mistakes) {
    const { code, stderr } = await printed(args.map((one) => one.replaceAll('\0', '')));
    expect(code).not.toBe(0);
    expect(stderr).not.toBe('');
  }
  const server = createServer((_request, response) =>
    response.writeHead(400).end(JSON.stringify({ errors: [{ code: SPOOF, description: SPOOF }] })),
  );
  const { url, close } = await listeningOn(server);
  closers.push(close);
  const provider = { PROVIDER_BASE_URL: url, PROVIDER_API_SECRET: 's3cret' };
  expect((await printed(['webhooks', 'list'], provider)).stderr).toContain('\\u202e');
  await printed(['doctor', '--url', `${url}/`], provider);
  await printed(['doctor', '--json', '--url', `${url}/`], provider);
});

test('is visible, when what a provider registered is listed and shown', async () => {
  const webhook = {
    id: 'abcdefgh',
    type: 'webhook',
    created: '2024-08-27T00:20:57.123000+00:00',
    last_modified: '2024-08-27T00:20:57.123000+00:00',
    metadata: {
      name: SPOOF,
      description: SPOOF,
      webhook_url: 'https://a.example/',
      events: [],
      site_ids: [SPOOF],
    },
    schema: null,
    relationships: {},
  };
  const server = createServer((request, response) => {
    const page = { page: 1, page_length: 100, total: 1, webhooks: [webhook] };
    response.end(JSON.stringify(request.url?.includes(webhook.id) ? webhook : page));
  });
  const { url, close } = await listeningOn(server);
  closers.push(close);
  await desk().fill(0);
  const provider = { PROVIDER_BASE_URL: url, PROVIDER_API_SECRET: 's3cret' };
  for (const args of [
    ['webhooks', 'list'],
    ['webhooks', 'show', webhook.id],
  ]) {
    expect((await printed(args, provider)).stdout).toContain('\\u202e');
    const { stdout } = await printed([...args, '--json'], provider);
    expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(SPOOF).slice(1, -1));
  }
});

test('is visible, when the server logs why it refused what strangers sent', async () => {
  const service = await desk().serveApart({ WEBHOOK_SECRET: SECRET, LOG_LEVEL: 'debug' });
  const post = (body: object, claims: object) =>
    fetch(`${service.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenOf(JSON.stringify(claims), SECRET)}` },
      body: JSON.stringify(body),
    });
  expect((await post({ ...BODY, [`a${SPOOF}`]: 1 }, BODY)).status).toBe(401);
  expect((await post(BODY, BODY)).status).toBe(200);
  expect((await fetch(`${service.url}/${encodeURIComponent(SPOOF)}`)).status).toBe(404);
  await eventually('both are logged', () =>
    ['notification refused', 'notification recorded'].every((message) => service.output().includes(message)),
  );
  service.child.kill('SIGTERM');
  await service.exited;
  expect(hostileIn(service.output())).toEqual([]);
  const lines = ndjson(service.output());
  const refused = lines.find(({ msg }) => msg === 'notification refused');
  expect(refused.path).toContain('\u202e');
});

test('is visible, when the mock prints notifications and answers', async () => {
  const receiver = createServer((_request, response) => response.end(SPOOF));
  const { url: hook, close } = await listeningOn(receiver);
  closers.push(close);
  let stdout = '';
  const ended = spawnCli(['mock', '--port', '0'], {
    onSpawn: (child) => {
      closers.push(() => child.kill('SIGKILL'));
      child.stdout?.on('data', (chunk) => {
        stdout += chunk;
      });
    },
  });
  await eventually('it listens', () => stdout.includes('/_mock/reset'));
  const url = /http:\S+/.exec(stdout)?.[0];
  const ask = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { Authorization: 'mock-api-secret', 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  const metadata = { name: SPOOF, webhook_url: hook, events: [], site_ids: ['s'] };
  await ask('/v2/webhooks', { metadata });
  await ask('/_mock/notifications', { event: `e${SPOOF}\nforged line`, site_id: 's' });
  await eventually('the attempt is printed', () => stdout.includes('delivered'));
  expect(hostileIn(stdout)).toEqual([]);
  expect(stdout).toContain('\\u202e');
  expect(stdout).not.toMatch(/^forged line/m);
  for (const close of closers.splice(0).reverse()) await close();
  await ended;
});
