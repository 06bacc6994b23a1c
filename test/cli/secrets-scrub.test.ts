import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { runCli } from '../support/run-cli.ts';

const database = databaseForEachTest();

test('secrets scrub says that no replaced secret is left, when one was replaced, in a line or in JSON', async () => {
  const { env, open } = database();
  const importing = ['webhooks', 'import', '--id', 'hook0001'];
  await runCli(importing, { env, stdin: 'the-replaced-secret-of-hook0001' });
  await runCli([...importing, '--replace'], { env, stdin: 'the-live-secret-of-hook0001' });
  const said = { code: 0, stderr: '', stdout: 'the files hold no deleted or replaced content any more\n' };
  expect(await runCli(['secrets', 'scrub'], { env })).toEqual(said);
  expect(await runCli(['secrets', 'scrub', '--json'], { env })).toEqual({
    ...said,
    stdout: '{"scrubbed":true}\n',
  });
  expect(await (await open()).secrets()).toMatchObject([{ secret: 'the-live-secret-of-hook0001' }]);
});
