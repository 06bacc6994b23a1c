import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createCommand, type Installation, install } from '../support/installation.ts';

let here: Installation;
let id: string;
beforeAll(async () => {
  here = await install({}, 'sqlite');
  ({ id } = here.foreignWebhook('https://your.host/webhooks/media', 'main'));
});
afterAll(() => here.dispose());

const NONE_AT = /there is no database at .*receiver\.db: .*run this where the server runs/;

test.each([
  ['webhooks rotate ID', 1],
  ['webhooks update ID --name other --json', 0],
])('hookkit %s says that there is no database, makes none, and ends with %i', async (command, expected) => {
  const { code, stdout, stderr } = await here.cli(command.replace('ID', id).split(' '));
  expect(code).toBe(expected);
  expect(stdout.includes(id)).toBe(expected === 0);
  expect(stderr).toMatch(NONE_AT);
  expect(existsSync(join(here.directory, 'data'))).toBe(false);
});

test('webhooks create makes one', async () => {
  expect((await here.cli(createCommand('https://your.host/webhooks/media'))).code).toBe(0);
  expect(existsSync(here.path)).toBe(true);
});
