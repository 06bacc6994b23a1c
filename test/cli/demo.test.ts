import { expect, test } from '@jest/globals';
import { kindNames } from '../../src/notification/kinds.ts';
import { runCli } from '../support/run-cli.ts';

test('shows every kind handled and the forged one refused, when run once, and ends with 0', async () => {
  const { code, stdout, stderr } = await runCli(['demo', '--once'], { env: { ADMIN_PORT: '0' } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const kind of kindNames)
    expect(stdout).toMatch(new RegExp(`^${kind}\\b.* 200 accepted +handled .* ok$`, 'm'));
  expect(stdout).toMatch(/^channel_active, forged +401 refused .* ok$/m);
  expect(stdout).toMatch(/^media_created, delivered again +200 duplicate .* ok$/m);
  expect(stdout).toMatch(/fails twice\) +200 accepted +handled +3 .* ok$/m);
  expect(stdout).toMatch(/^channel_active, the older, late +200 accepted +skipped .* ok$/m);
}, 60_000);
