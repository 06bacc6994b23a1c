import { copyFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { testOfFiles as test } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { SITE } from '../../support/installation.ts';
import { operatorAt } from '../../support/operator.ts';
import { refusals, startTraffic } from '../../support/traffic.ts';
import { countIn, eachPost, handledIn, operating } from './support.ts';

const post = eachPost();

// What moves is a file.
test('refuses nothing and has the history, when moved to another host as written while notifications come', async () => {
  const { operator: old, installation, register } = post();
  const service = await old.start('npm start');
  const id = await register();
  const next = await operatorAt(installation, 'new');
  next.here.set('2yW4KmiG', id).set('https://new.host', next.url);
  const traffic = startTraffic(installation.mock, SITE, 10);
  await eventually('something is recorded', () => countIn(old.directory) > 0);

  const commands = operating('Move to another host');
  const [makeDirectory = '', copy = '', send = '', sendSettings = '', ...onNew] = commands;
  for (const command of [makeDirectory, copy, send, sendSettings]) await old.type(command);
  const [ci = '', offline = '', start = '', update = '', doctor = '', ...rest] = onNew;
  expect(rest).toEqual([]);
  await next.type(ci);
  expect((await next.type(offline)).stdout).not.toMatch(/^FAIL/m);
  await next.start(start);
  const moved = countIn(next.directory);
  expect(moved).toBeGreaterThan(0);
  await next.type(update);
  expect((await next.type(doctor)).stdout).toContain(`${next.url}/webhooks/media reaches the receiver`);
  await traffic.stop();

  expect(refusals(installation.mock)).toEqual([]);
  expect(countIn(next.directory)).toBeGreaterThan(moved);
  await handledIn(old.directory, countIn(old.directory));
  expect((await old.type('npx hookkit doctor --offline')).stdout).toContain('0 pending, 0 running');
  await service.stop();
});

test('says that the key is missing, when it was left behind', async () => {
  const { operator, register } = post();
  await register();
  const next = await operatorAt(post().installation, 'new');
  copyFileSync(join(operator.directory, 'data/receiver.db'), join(next.directory, 'data/receiver.db'));
  copyFileSync(join(operator.directory, '.env'), join(next.directory, '.env'));
  const { stdout } = await next.type('npx hookkit doctor --offline', { code: 1 });
  expect(stdout).toMatch(/^FAIL +secrets +.*receiver\.db\.key is missing/m);
  unlinkSync(join(next.directory, '.env'));
});
