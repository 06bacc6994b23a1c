import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createCommand, type Installation, install } from '../support/installation.ts';

const URL = 'https://your.host/webhooks/media';
let here: Installation;
let id: string;
beforeAll(async () => {
  here = await install();
  ({ id } = here.foreignWebhook(URL, 'main'));
});
afterAll(() => here.dispose());

/** Neither a database nor a key, nor the directory for them. */
const nothingIsMade = () => expect(existsSync(join(here.directory, 'data'))).toBe(false);
const NONE_AT =
  /there is no database at .*receiver\.db: (?:if there should be one, )?run this where the server runs/;

describe('where DATABASE_URL names no database', () => {
  test.each([
    ['webhooks list --stored'],
    ['webhooks rotate ID'],
    ['webhooks delete ID'],
    ['quarantine list'],
    ['quarantine list --json'],
    ['quarantine admit'],
    ['secrets rekey'],
    ['events list'],
    ['events show loyw3uqg-0123456789abcdef0123'],
    ['events export'],
    ['events prune --older-than 30d'],
    ['events replay --status dead'],
    ['state show media:UUhbHm6C'],
    ['state delete media:UUhbHm6C'],
  ])('hookkit %s fails, makes none, and changes nothing at the provider', async (command) => {
    const before = here.mock.listWebhooks();
    const { code, stdout, stderr } = await here.cli(command.replace('ID', id).split(' '));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(NONE_AT);
    expect(here.mock.listWebhooks()).toEqual(before);
    nothingIsMade();
  });

  test.each([['webhooks list'], ['webhooks show ID'], ['webhooks update ID --name other']])(
    'hookkit %s tells what the provider has, says that no secret is stored, and makes none',
    async (command) => {
      const { code, stdout, stderr } = await here.cli([...command.replace('ID', id).split(' '), '--json']);
      expect(code).toBe(0);
      expect(stderr).toMatch(NONE_AT);
      expect(stdout).toContain(id);
      expect([JSON.parse(stdout)].flat()).toMatchObject([{ id, secret: 'missing', live_secrets: 0 }]);
      nothingIsMade();
    },
  );

  test('WEBHOOK_SECRET is told as what verifies', async () => {
    const env = { WEBHOOK_SECRET: 'of the environment' };
    const { stdout } = await here.cli(['webhooks', 'show', id, '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ secret: 'environment' });
    nothingIsMade();
  });

  test('one is made by the commands that store a secret', async () => {
    const made = await here.json(createCommand(URL));
    expect(await here.json(['webhooks', 'list', '--stored'])).toMatchObject([
      { id: made.id, secret: 'live' },
    ]);
  });
});
