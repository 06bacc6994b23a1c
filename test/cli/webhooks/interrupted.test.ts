import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { createCommand, type Installation, install } from '../../support/installation.ts';

let here: Installation;
beforeEach(async () => {
  here = await install();
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

test('create deletes the webhook again, when its secret cannot be stored, and ends with 1', async () => {
  await (await here.openStore()).close();
  await refuseSecrets();
  const { code, stdout, stderr } = await here.cli(CREATE);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/could not be stored \(.*the disk is full.*\), so it was deleted again/);
  expect(here.mock.listWebhooks()).toEqual([]);
});

test('create stores the secret first, when interrupted between the creation and the storing', async () => {
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
