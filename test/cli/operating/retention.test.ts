import { join } from 'node:path';
import { expect } from '@jest/globals';
import Database from 'better-sqlite3';
import { testOfFiles as test } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { countIn, eachPost, handledIn, operating } from './support.ts';

const post = eachPost();

/** How many events still have their body. */
function withBody(directory: string): number {
  const db = new Database(join(directory, 'data', 'receiver.db'), { readonly: true });
  const count = db.prepare<[], number>('SELECT count(body) FROM events').pluck().get() ?? 0;
  db.close();
  return count;
}

// What shrinks is a file.
test('removes what is old and knows it still, when RETENTION_DAYS is set, and shrinks the file as written', async () => {
  const { operator, installation, register, happen } = post();
  const service = await operator.start('npm start');
  await register();
  await happen(5);
  await handledIn(operator.directory, 5);
  await service.stop();
  const db = new Database(join(operator.directory, 'data', 'receiver.db'));
  db.exec('UPDATE events SET ended_at = ended_at - 91 * 86400000');
  db.close();

  operator.configure({ RETENTION_DAYS: '90' });
  const again = await operator.start('npm start');
  await eventually('the old ones are pruned', () => withBody(operator.directory) === 0);
  expect(countIn(operator.directory)).toBe(5);
  const [first] = installation.mock.deliveries();
  installation.mock.redeliver(first?.id ?? '');
  await installation.mock.settled();
  expect(installation.mock.deliveries().at(-1)?.attempts[0]?.answer?.body).toContain('"duplicate"');

  const [doctor = '', size = '', shrink = '', start = '', ...rest] = operating('Keep the database small');
  expect(rest).toEqual([]);
  await operator.type(doctor);
  expect((await operator.type(size)).stdout).toMatch(/^\S+\tdata\/receiver\.db$/m);
  await again.stop();
  await operator.type(shrink);
  await operator.start(start);
  expect(countIn(operator.directory)).toBe(5);
});
