import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { Random } from '../../src/mock/random.ts';
import { openStore } from '../../src/store/open.ts';
import { runCli } from '../support/run-cli.ts';
import { size } from '../support/sizes.ts';
import { FaultStage } from './service.ts';

const stage = new FaultStage();
const ROUNDS = size({ small: 12, full: 60 });
/** So many that sealing them takes a while. */
const SECRETS = 3000;
const SEED = 20_261_122;

test(`secrets rekey, killed ${ROUNDS} times at any moment, leaves each secret readable with the key that is in the file`, async () => {
  const { path } = stage;
  const open = () => openStore({ url: `sqlite:${path}`, clock: systemClock });
  const secrets = Array.from({ length: SECRETS }, (_, number) => `secret-${number}`);
  const first = await open();
  await Promise.all(secrets.map((secret) => first.addSecret('hook0001', secret)));
  await first.close();

  const random = new Random(SEED);
  const env = { DATABASE_URL: `sqlite:${path}` };
  const began = performance.now();
  expect((await runCli(['secrets', 'rekey'], { env })).code).toBe(0);
  const wholeMs = performance.now() - began;
  let done = 0;
  for (let round = 0; round < ROUNDS; round++) {
    // Mostly in its second half, as the first goes into starting Node.
    const killAfter = wholeMs * (0.3 + random.next());
    const run = await runCli(['secrets', 'rekey'], {
      env,
      onSpawn: (child) => {
        const timer = setTimeout(() => child.kill('SIGKILL'), killAfter);
        child.once('exit', () => clearTimeout(timer));
      },
    });
    if (run.code === 0) done++;
    const store = await open();
    const found = await store.secrets();
    await store.close();
    expect(found.map(({ secret }) => secret).toSorted()).toEqual(secrets.toSorted());
  }
  const left = readdirSync(dirname(path)).filter((name) => name.includes('.next-')).length;
  process.stdout.write(
    `rekey: ${ROUNDS} rounds, ${done} ended by themselves, ${ROUNDS - done} killed, ${left} of them with a key written down and not in use yet\n`,
  );
  expect(done).toBeLessThan(ROUNDS);
});
