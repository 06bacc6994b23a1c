import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { testOfFiles as test } from '../../support/engine.ts';
import { providerSettings } from '../../support/operator.ts';
import { serveApart } from '../../support/served.ts';
import { eachPost, operating } from './support.ts';

const post = eachPost();

// The first start makes a file.
test('serves, when installed and started as written, and ends in order', async () => {
  const { operator, installation } = post();
  rmSync(join(operator.directory, '.env'));
  const [ci = '', copy = '', protect = '', start = '', ready = '', ...rest] = operating('Install and start');
  expect(rest).toEqual([]);
  for (const command of [ci, copy, protect]) await operator.type(command);
  operator.configure(providerSettings(installation));
  expect(statSync(join(operator.directory, '.env')).mode & 0o777).toBe(0o600);
  const service = await operator.start(start, { serving: serveApart });
  expect((await operator.type(ready)).stdout).toBe('{"status":"ready"}');
  expect(existsSync(join(operator.directory, 'data', 'receiver.db'))).toBe(true);
  await service.stop();
});
