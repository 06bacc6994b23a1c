import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { type ClientOptions, StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import { closeAll, collect, deadUrl, type Got, patient, type Script, scripted } from './support.ts';

afterEach(closeAll);

const CREDENTIAL = 'v3ry-s3cret-credential';
const echo = ({ headers, body }: Got) => ({
  error: `you sent ${headers.authorization} with ${body}`,
  errors: [{ code: `bad ${headers.authorization}`, description: `you sent ${headers.authorization}` }],
});
const answering =
  (status: number): Script =>
  (response, got) => {
    response.writeHead(status, {
      'Content-Type': 'application/json',
      Location: `/?${got.headers.authorization}`,
    });
    response.end(JSON.stringify(echo(got)));
  };

const faults: [string, Script][] = [
  ...[200, 201, 302, 400, 401, 403, 404, 422, 429, 500].map((status): [string, Script] => [
    `a ${status} that repeats the request`,
    answering(status),
  ]),
  ['text that repeats the request', (response, got) => response.end(`${got.headers.authorization}`)],
  ['a dropped connection', (response) => response.destroy()],
];

/** Everything that an error could show, however deeply it is printed. */
function everything(error: unknown): string {
  const shown = [inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true })];
  for (let one = error; one instanceof Error; one = one.cause) {
    shown.push(one.stack ?? '', one.message, JSON.stringify(one, Object.getOwnPropertyNames(one)));
  }
  return shown.join('\n');
}

function callsOf(baseUrl: string, retries: unknown[]) {
  const options: ClientOptions = { ...patient().options, onRetry: (retry) => retries.push(retry) };
  const webhooks = new WebhooksClient({ baseUrl, apiSecret: CREDENTIAL, ...options });
  const statuses = new StatusesClient({ baseUrl, token: CREDENTIAL, ...options });
  const hook = { name: 'x', webhook_url: 'https://x.example', events: [], site_ids: [] };
  return [
    () => webhooks.create(hook),
    () => webhooks.get('1'),
    () => webhooks.update('1', { name: 'y' }),
    () => webhooks.delete('1'),
    () => collect(webhooks.list()),
    () => statuses.schedule({ status: 'x' }, '2026-01-02T00:00:00Z'),
    () => statuses.publish({ status: 'x' }),
    () => statuses.get('1'),
    () => statuses.reschedule('1', '2026-01-02T00:00:00Z'),
    () => statuses.cancel('1'),
    () => collect(statuses.list()),
  ];
}

async function expectSecrecy(baseUrl: string, got: Got[]) {
  const retries: unknown[] = [];
  for (const call of callsOf(baseUrl, retries)) {
    const error = await call().catch((thrown) => thrown);
    if (error instanceof Error) expect(everything(error)).not.toContain(CREDENTIAL);
  }
  expect(inspect(retries, { depth: 9 })).not.toContain(CREDENTIAL);
  for (const { url, body } of got) expect(url + body).not.toContain(CREDENTIAL);
}

test.each(faults)(
  'never shows the credential, when the answer is %s, in error, retry, URL or body',
  async (_, fault) => {
    const { url, got } = await scripted(fault);
    await expectSecrecy(url, got);
    expect(got.length).toBeGreaterThan(0);
    expect(got[0]?.headers.authorization).toContain(CREDENTIAL);
  },
);

test('never shows the credential, when no server listens, in any error', async () => {
  await expectSecrecy(await deadUrl(), []);
});

describe('a client', () => {
  const options = { baseUrl: 'https://x.example' };
  test('does not show its credential, when it is printed', () => {
    const clients = [
      new WebhooksClient({ ...options, apiSecret: CREDENTIAL }),
      new StatusesClient({ ...options, token: CREDENTIAL }),
    ];
    expect(inspect(clients, { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain(CREDENTIAL);
    expect(JSON.stringify(clients)).not.toContain(CREDENTIAL);
  });
  test.each(['', 'two words', 'line\nbreak', 'ünïcode', 'end\u0000'])(
    'refuses a credential, when it is %j, without showing it',
    (credential) => {
      for (const make of [
        () => new WebhooksClient({ ...options, apiSecret: credential }),
        () => new StatusesClient({ ...options, token: credential }),
      ]) {
        expect(make).toThrow(/^a credential of a provider must be printable ASCII without spaces$/);
      }
    },
  );
  test.each([
    '',
    'x.example',
    'ftp://x.example',
    'https://user:pass@x.example',
    'https://x.example/?key=1',
    'https://x.example/#',
    'https://x.example /',
  ])('refuses a base URL, when it is "%s", without showing it', (baseUrl) => {
    expect(() => new StatusesClient({ baseUrl, token: 'x' })).toThrow(/^the base URL of a provider must be/);
  });
});
