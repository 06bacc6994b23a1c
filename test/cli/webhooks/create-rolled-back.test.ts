import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { createCommand } from '../../support/installation.ts';
import { type InstallationOnEngine, installOnEngine } from '../../support/installation-on-engine.ts';

let here: InstallationOnEngine;
beforeEach(async () => {
  here = await installOnEngine();
});
afterEach(() => here.dispose());

const CREATE = createCommand('https://your.host/x');

/** From now on the database takes no secret. */
const refuseSecrets = () =>
  here.database.execute({
    sqlite: `CREATE TRIGGER no_secrets BEFORE INSERT ON secrets BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
    postgres: `
      CREATE FUNCTION no_secrets() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''the disk is full''; END';
      CREATE TRIGGER no_secrets BEFORE INSERT ON hookkit.secrets FOR EACH ROW EXECUTE FUNCTION no_secrets()`,
  });

test('deletes the webhook again, when its secret cannot be stored, and ends with 1', async () => {
  await here.makeDatabase();
  await refuseSecrets();
  const { code, stdout, stderr } = await here.cli(CREATE);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^hookkit: the secret of the new webhook \w{8} could not be stored \(.*the disk is full.*\), so it was deleted again: .*\n$/,
  );
  expect(here.mock.listWebhooks()).toEqual([]);
});

test('says which webhook is left over, when it cannot be deleted again either', async () => {
  await here.makeDatabase();
  await refuseSecrets();
  here.provider.intercept = async ({ method }, forward) =>
    method === 'DELETE' ? { status: 403, body: '{}' } : forward();
  const { code, stderr } = await here.cli(CREATE);
  const [left] = here.mock.listWebhooks();
  expect(code).toBe(1);
  expect(stderr).toMatch(
    new RegExp(`could not be deleted again \\(.*403.*\\): run npx hookkit webhooks delete ${left?.id}\n$`),
  );
});

test('stores the secret first, when interrupted between the creation and the storing', async () => {
  let interrupt = (): boolean => false;
  let said = '';
  here.provider.intercept = async (_asked, forward) => {
    const answer = await forward();
    interrupt();
    await eventually('the command has taken the signal', () => said.includes('half-done'));
    return answer;
  };
  const { code, stderr } = await here.cli([...CREATE, '--json'], {
    onSpawn: (child) => {
      child.stderr?.on('data', (chunk) => {
        said += chunk;
      });
      interrupt = () => child.kill('SIGINT');
    },
  });
  expect({ code, held: stderr.includes('half-done') }).toEqual({ code: 0, held: true });
  const [webhook] = here.mock.listWebhooks();
  expect(await here.json(['webhooks', 'list', '--stored'])).toMatchObject([
    { id: webhook?.id, secret: 'live' },
  ]);
});
