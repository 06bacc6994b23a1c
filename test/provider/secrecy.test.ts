import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { clientsOf, type Got, NEW_HOOK, NOWHERE, type Script, SOON, scripted } from './support.ts';

const CREDENTIAL = 'v3ry-s3cret-credential';
const echo = ({ headers: { authorization } }: Got) => ({
  error: `you sent ${authorization}`,
  errors: [{ code: `bad ${authorization}`, description: `you sent ${authorization}` }],
});
const echoing =
  (status: number): Script =>
  (response, got) =>
    response.writeHead(status, { Location: `/?${got.headers.authorization}` }).end(JSON.stringify(echo(got)));

const faults: [string, Script][] = [
  ...[200, 302, 401, 500].map((status): [string, Script] => [`a ${status}`, echoing(status)]),
  ['text', (response, got) => response.end(`${got.headers.authorization}`)],
  ['a dropped connection', (response) => response.destroy()],
];

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
    const result = await call().catch((error) => error);
    if (result instanceof Error)
      expect(inspect(result, { depth: 9, showHidden: true })).not.toContain(CREDENTIAL);
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

const BAD_CREDENTIAL = 'a credential of a provider must be printable ASCII without spaces';
const BAD_URL = 'the base URL of a provider must be an http(s) URL without credentials and query';
test.each([
  [NOWHERE, { apiSecret: 'two words' }, BAD_CREDENTIAL],
  [NOWHERE, { token: 'ünïcode' }, BAD_CREDENTIAL],
  ['ftp://x.example', {}, BAD_URL],
  ['https://user:pass@x.example', {}, BAD_URL],
  ['https://x.example/?key=1', {}, BAD_URL],
])('refuses the base URL %s with %j, without showing what is wrong', (baseUrl, more, message) => {
  expect(() => clientsOf(baseUrl, more)).toThrow(new TypeError(message));
});
