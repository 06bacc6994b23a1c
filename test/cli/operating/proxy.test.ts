import { createServer, request } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { listeningOn } from '../../mock/support/listening.ts';
import { refusals } from '../../support/traffic.ts';
import { eachPost, listed, operating } from './support.ts';

const post = eachPost();
const CLIENT = '203.0.113.7';
let close = async () => {};
afterEach(() => close());

/** A proxy that says, as nginx does, for whom it asks. */
async function startProxy(target: string): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, 'x-forwarded-for': CLIENT };
    const { method, url } = incoming;
    const asked = request(`${target}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    asked.on('error', () => outgoing.writeHead(502).end());
    incoming.pipe(asked);
  });
  const listening = await listeningOn(server);
  close = listening.close;
  return listening.url;
}

test('is reached and sees who sends, when it stands behind a proxy as written', async () => {
  const { operator, installation, register, happen } = post();
  operator.configure({ HOST: '127.0.0.1', TRUST_PROXY: '1' });
  await operator.start('npm start');
  const proxy = await startProxy(operator.url);
  operator.here.set('https://your.host', proxy);
  await register();
  installation.foreignWebhook(`${proxy}/webhooks/media`, 'unknown');
  await happen(2);
  expect(refusals(installation.mock)).toHaveLength(2); // those of the unknown one
  const [doctor = '', quarantine = '', ...rest] = operating('Behind a proxy');
  expect(rest).toEqual([]);
  // The unknown one sends here, too, and that is what the doctor complains of.
  expect((await operator.type(doctor, { code: 1 })).stdout).toMatch(new RegExp(`^ok +url +${proxy}/`, 'm'));
  for (const row of await listed({ operator }, quarantine, 2)) expect(row).toMatch(/ 203\.0\.113\.7$/);
});

test('is told by the doctor, when the proxy is up and the receiver is not', async () => {
  const { operator, register } = post();
  const proxy = await startProxy(operator.url);
  operator.here.set('https://your.host', proxy);
  await register();
  const { stdout } = await operator.type('npx hookkit doctor', { code: 1 });
  expect(stdout).toMatch(/^FAIL +url .* answers 502 /m);
});
