import { expect, test } from '@jest/globals';
import { claims, DEAD, HANDLED, settleAll } from '../support/claiming.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { present } from '../support/only.ts';
import { runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();

/** The lines that a command prints. */
async function linesOf(...args: string[]): Promise<string[]> {
  const { code, stdout } = await runCli(args, { env: desk().env, cwd: desk().directory });
  expect({ args, code }).toEqual({ args, code: 0 });
  return stdout.trimEnd().split('\n');
}

/** Each of its characters is six when it is shown. */
const LONG = '\u202e'.repeat(200);
const notification = {
  ...verified({ media_id: 'long' }),
  kind: LONG,
  resource: `media:${LONG}`,
  webhookId: LONG,
};

test('widens no table beyond the bound of its columns, when a stranger has sent it, or a handler has thrown it', async () => {
  const store = await desk().store();
  const { id } = await store.record(notification);
  await store.record(verified({ media_id: 'usual' }));
  await settleAll(store, { ...DEAD, error: '\0'.repeat(300) });
  await store.quarantine({ ...notification, token: 'x.y.z', source: '192.0.2.1' }, 1_000_000);
  for (const args of [
    ['events', 'list'],
    ['events', 'replay', '--all', '--dry-run'],
    ['quarantine', 'list'],
  ]) {
    const lines = await linesOf(...args);
    expect({ args, isBounded: lines.every((line) => line.length < 500) }).toEqual({ args, isBounded: true });
    expect(lines.join()).toContain('\\u202e ...');
  }
  const history = (await linesOf('events', 'show', id)).slice(-3);
  expect(history[0]).toMatch(/^life /);
  for (const line of history) expect(line.length).toBeLessThan(300);
});

test('is shown whole in the last column, when it is a value of the state, and no line but its own is long', async () => {
  const store = await desk().store();
  await store.record(verified({ media_id: 'UUhbHm6C' }));
  const value = JSON.stringify('x'.repeat(5000));
  const state = [
    { name: 'long', value },
    { name: 'short', value: '1' },
  ];
  await store.settle(present((await claims(store))[0]), { ...HANDLED, state });
  const [, rule = '', first] = await linesOf('state', 'show', 'media:UUhbHm6C');
  expect(rule.length).toBeLessThan(200);
  expect(first).toBe(`long   ${value}`);
});
