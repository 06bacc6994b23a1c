import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import { clientsOf, type Got, NEW_HOOK, NOWHERE, type Script, SOON, scripted } from './support.ts';

const CREDENTIAL = 'v3ry-s3cret-credential';
const echo = ({ headers, body }: Got) => ({
  error: `you sent ${headers.authorization} with ${body}`,
  errors: [{ code: `bad ${headers.authorization}`, description: `you sent ${headers.authorization}` }],
});
const echoing =
  (status: number): Script =>
  (response, got) =>
    response.writeHead(status, { Location: `/?${got.headers.authorization}` }).end(JSON.stringify(echo(got)));

const faults: [string, Script][] = [
  ...[200, 201, 302, 400, 401, 404, 429, 500].map((status): [string, Script] => [
    `a ${status}`,
    echoing(status),
  ]),
  ['text', (response, got) => response.end(`${got.headers.authorization}`)],
  ['a dropped connection', (response) => response.destroy()],
];

/** Everything that an error could show, however deeply it is printed. */
function everything(error: unknown): string {
  const shown = [inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true })];
  for (let one = error; one instanceof Error; one = one.cause)
    shown.push(one.stack ?? '', one.message, JSON.stringify(one, Object.getOwnPropertyNames(one)));
  return shown.join('\n');
}

async function expectSecrecy(baseUrl: string): Promise<void> {
  const { webhooks, statuses, retries } = clientsOf(baseUrl, { apiSecret: CREDENTIAL, token: CREDENTIAL });
  const calls = [
    () => webhooks.create(NEW_HOOK),
    () => webhooks.update('1', { name: 'y' }),
    () => webhooks.delete('1'),
    () => webhooks.list().next(),
    () => statuses.schedule({ status: 'x' }, SOON),
    () => statuses.cancel('1'),
    () => statuses.list().next(),
  ];
  for (const call of calls) {
    const error = await call().catch((thrown) => thrown);
    if (error instanceof Error) expect(everything(error)).not.toContain(CREDENTIAL);
  }
  expect(inspect([retries, webhooks, statuses], { depth: 9, showHidden: true })).not.toContain(CREDENTIAL);
}

test.each(faults)(
  'never shows the credential, when the answer is %s that repeats the request',
  async (_, fault) => {
    const { url, got } = await scripted(fault);
    await expectSecrecy(url);
    expect(got[0]?.headers.authorization).toContain(CREDENTIAL);
    for (const { url: path, body } of got) expect(path + body).not.toContain(CREDENTIAL);
  },
);

test('never shows the credential, when no server listens', async () => {
  await expectSecrecy(NOWHERE);
});

test.each(['', 'two words', 'line\nbreak', 'ünïcode', 'end\u0000'])(
  'refuses a credential, when it is %j, without showing it',
  (secret) => {
    const message = /^a credential of a provider must be printable ASCII without spaces$/;
    expect(() => new WebhooksClient({ baseUrl: NOWHERE, apiSecret: secret })).toThrow(message);
    expect(() => new StatusesClient({ baseUrl: NOWHERE, token: secret })).toThrow(message);
  },
);

test.each([
  '',
  'x.example',
  'ftp://x.example',
  'https://user:pass@x.example',
  'https://x.example/?key=1',
  'https://x /',
])('refuses a base URL, when it is "%s", without showing it', (baseUrl) => {
  const message = /^the base URL of a provider must be an http\(s\) URL without credentials and query$/;
  expect(() => new StatusesClient({ baseUrl, token: 'x' })).toThrow(message);
});
