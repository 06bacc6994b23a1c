import { systemClock } from '../../src/base/clock.ts';
import { loadConfig } from '../../src/config.ts';
import { openStore } from '../../src/store/open.ts';
import { EVENT_TIME, verified } from './verified-notification.ts';

// Records notifications one after the other and prints the id of each once it is acknowledged, until it is killed. Nothing
// here claims, so what it records stays in the ledger for a while: until the store takes it into work by itself.
const [name = ''] = process.argv.slice(2);
const { DATABASE_URL: url, SECRETS_KEY: secretsKey } = loadConfig();
const store = await openStore({ url, secretsKey, clock: systemClock });
for (let number = 0; ; number++) {
  const { id } = await store.record(verified({ media_id: `${name}-${number % 7}`, at: EVENT_TIME + number }));
  process.stdout.write(`${id}\n`);
}
