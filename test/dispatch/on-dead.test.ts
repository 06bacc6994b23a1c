import { expect, test } from '@jest/globals';
import { fail, type Handlers } from '../../src/dispatch/handler.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { eachWithStage, LEASE_MS } from './stage.ts';

const stage = eachWithStage();

/** An `onDead` that keeps what it is given. */
function telling() {
  const told: unknown[] = [];
  return { told, app: { value: 'the app', onDead: (...given: unknown[]) => void told.push(given) } };
}

test.each<[string, Required<Handlers>['media_available'], Record<string, unknown>, string, number]>([
  ['has failed too often', () => Promise.reject(new Error('no connection')), {}, 'Error: no connection', 5],
  ['fail says so', () => fail('never'), {}, 'never', 1],
  ['a step cannot be stored', (_, ctx) => ctx.once('a', () => 1n), {}, 'step "a" of ctx.once has run', 1],
  ['its payload is not valid', () => {}, { media_id: undefined }, 'invalid payload: media_id', 1],
])(
  'onDead is called once with an event that is dead, when %s',
  async (_, handler, members, error, attempts) => {
    const { store, record, start, pass, event } = stage();
    const id = await record(members);
    const { told, app } = telling();
    const statuses: (string | undefined)[] = [];
    const onDead = async (...given: unknown[]) => {
      app.onDead(...given);
      statuses.push((await store.event(id))?.status);
    };
    await start({ media_available: handler }, {}, { ...app, onDead });
    await pass(120_000);
    const notification = JSON.parse((await event(id)).body ?? '');
    const dead = { id, error: expect.stringContaining(error), attempts };
    expect({ told, statuses }).toEqual({ told: [[notification, dead, 'the app']], statuses: ['dead'] });
  },
);

test('onDead is called once with an event that was lost to five crashes, by the process that finds it', async () => {
  const { record, start, pass } = stage();
  const id = await record();
  const { told, app } = telling();
  for (let crash = 1; crash <= 5; crash++) {
    const { kill } = await start({ media_available: new HeldHandler().handle }, {}, app);
    await pass(2 * LEASE_MS);
    expect(told).toEqual([]);
    kill();
  }
  for (let process = 0; process < 2; process++) await start({}, {}, app);
  await pass(2 * LEASE_MS);
  const dead = { id, error: expect.stringMatching(/its process crashed/), attempts: 5 };
  expect(told).toEqual([[expect.objectContaining({ event: 'media_available' }), dead, 'the app']]);
});

test('handling does not wait for onDead, a stop waits no longer than for a handler, and errors are logged', async () => {
  const { clock, record, start, stop, pass, event, logged } = stage();
  const id = await record();
  const next = await record({ event: 'media_updated' });
  const calls = [() => new Promise(() => {}), () => Promise.reject(new Error('no chat'))];
  const failing = { media_available: () => fail('never'), thumbnail_created: () => fail('never') };
  const { dispatcher } = await start(
    { ...failing, media_updated() {} },
    {},
    { onDead: () => calls.shift()?.() },
  );
  expect(await event(next)).toMatchObject({ status: 'handled' });
  const other = await record({ event: 'thumbnail_created', thumbnail_id: 't' });
  dispatcher.came('media:media-1');
  await pass(100);
  const began = clock.now();
  const ended = dispatcher.stop(3000).then(() => clock.now() - began);
  await stop(dispatcher, 3000);
  expect({ calls, waited: await ended }).toEqual({ calls: [], waited: 4500 });
  expect(logged('onDead failed')).toMatchObject([
    { event: other, error: expect.stringMatching(/^Error: no chat/) },
  ]);
  expect(await event(id)).toMatchObject({ status: 'dead' });
});
