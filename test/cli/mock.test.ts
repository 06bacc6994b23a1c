import { expect, test } from '@jest/globals';
import { controlCatalogue, defaultTokens } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
import { ask } from '../mock/support/api.ts';
import { startReceiver } from '../support/receiver.ts';
import { runCli, startCli } from '../support/run-cli.ts';

test('hookkit mock says what it is, where it listens, its credentials and routes, then a line for each attempt, without its token, and ends with 0', async () => {
  const mock = startCli(['mock', '--virtual-clock', '--seed', '5', '--receiver-host', 'b'], {
    env: { MOCK_PORT: '0' },
  });
  await mock.says('/_mock/reset');
  const [url = ''] = /http:\S+/.exec(mock.said()) ?? [];
  expect(mock.said()).toMatch(new RegExp(`^.*MOCK.* ${url}\n`));
  expect(mock.said()).toContain('mock-api-secret');
  for (const { token } of defaultTokens) expect(mock.said()).toContain(token);
  for (const [method, path] of controlCatalogue) {
    expect(mock.said()).toMatch(new RegExp(`${method} +${path} `));
  }

  const receiver = await startReceiver();
  await ask(`${url}/v2/webhooks`, 'POST', {
    metadata: { name: 'a', webhook_url: receiver.url, events: ['channel_created'], site_ids: ['s'] },
  });
  const elsewhere = { name: 'b', webhook_url: 'http://b:3000/', events: [], site_ids: [] };
  expect((await ask(`${url}/v2/webhooks`, 'POST', { metadata: elsewhere })).status).toBe(201);
  await ask(`${url}/_mock/channels`, 'POST', { site_id: 's' });
  await mock.says('delivered');
  const line = mock
    .said()
    .split('\n')
    .find((text) => text.includes('delivered'));
  expect(line).toMatch(/^2026-01-01T00:00:00\.000Z #1 channel_created to \w{8}: 200, delivered$/);
  expect(mock.said()).not.toContain(receiver.received[0]?.token ?? '?');
  expect((await ask(`${url}/_mock/clock`, 'GET')).json.now).toBe('2026-01-01T00:00:00.000Z');
  mock.kill('SIGINT');
  expect(await mock.ended).toMatchObject({ code: 0, stderr: '' });
});

test('shows every kind handled and the forged one refused, when run once, and ends with 0', async () => {
  const { code, stdout, stderr } = await runCli(['demo', '--once'], { env: { ADMIN_PORT: '0' } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const kind of kindNames)
    expect(stdout).toMatch(new RegExp(`^${kind}\\b.* 200 accepted +handled .* ok$`, 'm'));
  expect(stdout).toMatch(/^channel_active, forged +401 refused .* ok$/m);
  expect(stdout).toMatch(/^media_created, delivered again +200 duplicate .* ok$/m);
  expect(stdout).toMatch(/fails twice\) +200 accepted +handled +3 .* ok$/m);
  expect(stdout).toMatch(/^channel_active, the older, late +200 accepted +skipped .* ok$/m);
});
