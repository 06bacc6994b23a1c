import type { ChildProcess } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { Random } from '../../src/mock/random.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { runCli } from '../support/run-cli.ts';
import { size } from '../support/sizes.ts';

const database = databaseForEachTest();
const ROUNDS = size({ small: 12, full: 60 });
/** So many that sealing them takes a while. */
const SECRETS = 3000;

test(`secrets rekey, killed ${ROUNDS} times at any moment, leaves each secret readable with the key that is in the file`, async () => {
  const secrets = Array.from({ length: SECRETS }, (_, number) => `secret-${number}`);
  const first = await database().open();
  await Promise.all(secrets.map((secret) => first.secrets.add('hook0001', secret)));
  await first.close();

  const random = new Random(20_261_122);
  const { env } = database();
  const began = performance.now();
  expect((await runCli(['secrets', 'rekey'], { env })).code).toBe(0);
  const wholeMs = performance.now() - began;
  let done = 0;
  for (let round = 0; round < ROUNDS; round++) {
    // Mostly in its second half, as the first goes into starting Node.
    const killAfter = wholeMs * (0.3 + random.next());
    const onSpawn = (child: ChildProcess) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), killAfter);
      child.once('exit', () => clearTimeout(timer));
    };
    if ((await runCli(['secrets', 'rekey'], { env, onSpawn })).code === 0) done++;
    const store = await database().open();
    const found = await store.secrets.live();
    await store.close();
    expect(found.map(({ secret }) => secret).toSorted()).toEqual(secrets.toSorted());
  }
  process.stdout.write(`rekey: ${ROUNDS} rounds, ${done} ended by themselves, the others were killed\n`);
  expect(done).toBeLessThan(ROUNDS);
});
