import { expect } from '@jest/globals';
import { testOfFiles as test } from '../../support/engine.ts';
import { textOf } from '../../support/manual.ts';
import { eachPost, operating } from './support.ts';

const post = eachPost();

// test/store/postgres/check-server.test.ts has what is checked of a server.
test('finds what the page says that it checks, when the doctor is called as written', async () => {
  const { operator, register } = post();
  await operator.start('npm start');
  await register();
  const [full = '', offline = '', json = '', ...rest] = operating('Check an installation');
  expect(rest).toEqual([]);
  expect((await operator.type(full)).stdout).toMatch(/^ok +url /m);
  expect((await operator.type(offline)).stdout).toMatch(/^skipped +url +--offline$/m);
  const { ok, findings } = JSON.parse((await operator.type(json)).stdout);
  expect(ok).toBe(true);
  for (const { check } of findings) expect(textOf('operating.md')).toContain(`\n| ${check} |`);
});
