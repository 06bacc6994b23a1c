import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { testOfFiles as test } from '../../support/engine.ts';
import { eachPost, operating } from './support.ts';

const post = eachPost();
const cli = join(import.meta.dirname, '../../../bin/hookkit.js');

/** Whether this is root, and `nobody`, who has no home, may read the program. */
function canBeNobody(): boolean {
  try {
    execFileSync('runuser', ['-u', 'nobody', '--', 'test', '-r', cli], { stdio: 'ignore' });
    return true;
  } catch {
    process.stderr.write(
      'skipped, as it takes root and a program that nobody may read: a user without a home\n',
    );
    return false;
  }
}

// The service has its database in a file.
test('works as written, when the user of the service has no home and can write to its state alone', async () => {
  const { operator, installation } = post();
  const commands = operating('Run it with systemd');
  expect(commands).toHaveLength(2);
  if (!canBeNobody()) return;
  for (const command of commands) expect(command).toMatch(/^runuser -u receiver -- node bin\/hookkit\.js /);
  operator.here.set('runuser -u receiver', 'runuser -u nobody');
  chmodSync(installation.directory, 0o755);
  const state = join(installation.directory, 'state');
  execFileSync('install', ['-d', '-o', 'nobody', '-m', '700', state]);
  operator.configure({ DATABASE_URL: `sqlite:${join(state, 'receiver.db')}` });
  const make = 'printf %s a-secret-of-a-webhook | runuser -u nobody -- node bin/hookkit.js';
  await operator.type(`${make} webhooks import --id 2yW4KmiG`);
  const [doctor = '', list = ''] = commands;
  expect((await operator.type(doctor)).stdout).toMatch(/^ok +secrets .*: 1$/m);
  expect((await operator.type(list)).stdout).toContain('2yW4KmiG');
});
