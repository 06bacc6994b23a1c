import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createCommand } from '../../support/installation.ts';
import { type InstallationOnEngine, installOnEngine } from '../../support/installation-on-engine.ts';

let here: InstallationOnEngine;
beforeEach(async () => {
  here = await installOnEngine();
});
afterEach(() => here.dispose());

test('says that the same command goes on, when a rotation fails half-way, and it does once the cause is gone', async () => {
  const { id } = await here.json(createCommand('https://your.host/x'));
  let isWorking = false;
  here.provider.intercept = async ({ method }, forward) =>
    method === 'PATCH' && !isWorking ? { status: 403, body: '{}' } : forward();
  const failed = await here.cli(['webhooks', 'rotate', id]);
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toMatch(
    new RegExp(`is not complete: run npx hookkit webhooks rotate ${id} again, .*\nhookkit: .*\n$`),
  );
  isWorking = true;
  expect(await here.json(['webhooks', 'rotate', id])).toMatchObject({ replaced: id });
  const again = await here.cli(['webhooks', 'rotate', id]);
  expect(again.stdout).toContain(`webhook ${id} was replaced already`);
});
