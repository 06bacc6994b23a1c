import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { SECRET, WEBHOOK } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { rawConnection } from '../support/raw-http.ts';
import { size } from '../support/sizes.ts';

const inspect = inspectedForEachTest();
const LONG = 60_000;
/** 200 characters, and the slash of a pointer. */
const LONGEST = 210;
/** Of a body in quarantine, which is shown as it came. */
const LONGEST_BODY = 4000;
const genuine = {
  event: 'media_available',
  webhook_id: WEBHOOK,
  site_id: 'site0001',
  media_id: 'm1',
  event_time: '2026-01-01T00:00:00+00:00',
};

/** The longest run of one letter in a text. */
function longestRun(written: string, letter: string): number {
  const runs = written.match(new RegExp(`${letter}+`, 'g')) ?? [];
  return Math.max(0, ...runs.map((run) => run.length));
}

/** What is sent, in which `q` stands for whatever is long. */
const cases: Record<string, { readonly body: object; readonly claims?: object; readonly secret?: string }> = {
  'the name of a member, unsigned': { body: { ...genuine, ['q'.repeat(LONG)]: 1 }, secret: 'forged' },
  'the name of a member that is not in the claims, unsigned': {
    body: { ...genuine, ['q'.repeat(LONG)]: 1 },
    claims: genuine,
    secret: 'forged',
  },
  'the name of a member that is not in the claims, signed': {
    body: { ...genuine, ['q'.repeat(LONG)]: 1 },
    claims: genuine,
  },
  'the name of a member within another, signed': {
    body: { ...genuine, ['q'.repeat(150)]: { ['q'.repeat(LONG)]: 1 } },
    claims: { ...genuine, ['q'.repeat(150)]: { ['q'.repeat(LONG)]: 2 } },
  },
  'the kind, unsigned': { body: { ...genuine, event: 'q'.repeat(LONG) }, secret: 'forged' },
  'the webhook, unsigned': { body: { ...genuine, webhook_id: 'q'.repeat(LONG) }, secret: 'forged' },
  'kind and webhook, unsigned': {
    body: { ...genuine, event: 'q'.repeat(LONG / 2), webhook_id: 'q'.repeat(LONG / 2) },
    secret: 'forged',
  },
};

test('a notification in quarantine shows at most 4,000 characters of its body, in the API and on the page', async () => {
  const { url, deliver, api, service } = await inspect();
  expect((await deliver({ ...genuine, ['q'.repeat(6000)]: 1 }, 'not known yet')).status).toBe(401);
  await eventually('it is kept', async () => (await service.store.quarantineSize()) === 1);
  const { newest } = await api('/quarantine');
  expect(newest).toMatchObject([{ body: expect.stringMatching(/^\{"event":"media_available".{3974}$/) }]);
  const page = await (await fetch(`${url}/quarantine`)).text();
  expect(longestRun(page, 'q')).toBeLessThanOrEqual(LONGEST_BODY);
});

describe('a refused notification leaves no more than 210 characters of what is long in the log, the API or a page', () => {
  test.each(Object.entries(cases))(
    'when it is %s',
    async (_what, { body, claims = body, secret = SECRET }) => {
      const { service, url, log, api } = await inspect();
      const sent = JSON.stringify(body);
      const connection = await rawConnection(service.port);
      connection.write(
        `POST /webhooks/media HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${tokenOf(JSON.stringify(claims), secret)}\r\nContent-Length: ${sent.length}\r\n\r\n${sent}`,
      );
      expect(await connection.closed).toMatch(/^HTTP\/1.1 401 /);
      const line = JSON.stringify(log.withMessage('notification refused'));
      const { rejections } = await api('/rejections');
      expect(rejections).toHaveLength(1);
      const shown = { line, api: JSON.stringify(rejections) };
      const texts = new Map(Object.entries(shown));
      for (const path of ['/', '/rejections', '/webhooks'])
        texts.set(path, await (await fetch(`${url}${path}`)).text());
      for (const [where, written] of texts)
        expect([where, Math.max(LONGEST, longestRun(written, 'q'))]).toEqual([where, LONGEST]);
      expect(log.lines.filter((one) => one.length > 2 * LONGEST + 300)).toEqual([]);
    },
  );

  test('when the path of a request is long', async () => {
    const { service, log } = await inspect();
    const connection = await rawConnection(service.port);
    connection.write(
      `GET /${'q'.repeat(LONG)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: ${'q'.repeat(1000)}\r\n\r\n`,
    );
    expect(await connection.closed).toMatch(/^HTTP\/1.1 404 /);
    expect(longestRun(log.lines.join(''), 'q')).toBeLessThanOrEqual(LONGEST);
  });
});

const script = fileURLToPath(new URL('../support/rejections-heap.ts', import.meta.url));
const KIB = 1024;

test('the last 200 rejections keep nothing alive of what they are cut from, at a raised BODY_LIMIT', async () => {
  const each = size({ small: 256 * KIB, full: 1024 * KIB });
  const child = spawn(process.execPath, ['--expose-gc', script, String(each)]);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { sent, kept } = JSON.parse(stdout);
  expect(sent).toBeGreaterThan(200 * each);
  expect(kept).toBeLessThan(sent / 10);
});
