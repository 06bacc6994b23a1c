import { describe, expect, test } from '@jest/globals';
import { doSteps, HANDLED, settleAll } from '../../support/claiming.ts';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { tokenOf } from '../../support/hs256.ts';
import { startReceiver } from '../../support/receiver.ts';
import { recordedLine } from '../../support/recorded-lines.ts';

const desk = deskForEachTest();

test('nothing to replay is an error, unless that is allowed', async () => {
  await desk().fill(1);
  const replay = async (...more: string[]) =>
    (await desk().events(['replay', '--status', 'dead', ...more])).code;
  expect([await replay(), await replay('--dry-run', '--allow-empty')]).toEqual([1, 0]);
});

test('forgets what ctx.once has done, when told to reset steps, and keeps it otherwise', async () => {
  await desk().fill(1);
  const store = await desk().store();
  const [{ id = '' } = {}] = await eventsIn(store, {}, 1);
  await store.queue.replay({});
  await doSteps(store, id, { announce: '1' }, HANDLED);
  await desk().events(['replay', '--all']);
  expect(await store.queue.steps({ id })).toHaveLength(1);
  await settleAll(store, HANDLED);
  await desk().events(['replay', '--all', '--reset-steps']);
  expect(await store.queue.steps({ id })).toEqual([]);
});

describe('over HTTP', () => {
  test('send sends exactly the file under the secret of its webhook, and signs for the one whose secret is the newest, when none is named', async () => {
    const store = await desk().store();
    await store.secrets.add('first001', SECRET);
    await store.secrets.add('second01', 'the-secret-of-the-second-webhook');
    const { url, received } = await startReceiver();
    const text = '{ "event": "media_renamed",\n  "webhook_id": "first001" }';
    const file = desk().write('body.json', text);
    for (const one of [
      ['--body', file],
      ['--kind', 'media_created', '--media', 'm'],
    ])
      expect(await desk().events(['send', ...one, '--to', url])).toMatchObject({ code: 0 });
    expect(received).toMatchObject([
      { text, token: tokenOf(text, SECRET) },
      { body: { webhook_id: 'second01' } },
    ]);
    expect(received[1]?.token).toBe(tokenOf(received[1]?.text ?? '', 'the-secret-of-the-second-webhook'));
  });

  test.each([
    [200, 'although it is forged'],
    [404, 'correct the path of --to'],
    [500, 'has not refused'],
  ])('send fails, when a broken notification is answered %i, which is no refusal', async (status, why) => {
    const { url } = await startReceiver(() => ({ status }));
    const one = ['--kind', 'media_created', '--media', 'm', '--fault', 'forged', '--to', url];
    const run = await desk().events(['send', ...one], { env: { WEBHOOK_SECRET: SECRET } });
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  });

  test('tells broken lines with their numbers, when stdin has some, sends the rest as new with its gaps and ends with 1', async () => {
    const { url, received, media } = await startReceiver();
    const lines = [recordedLine(0), 'garbage', '{"v":2}', '', recordedLine(4), recordedLine(5).slice(0, 50)];
    const args = ['replay', '--to', url, '--from', '-', '--as-new'];
    const run = await desk().events(args, { stdin: lines.join('\n'), env: { WEBHOOK_SECRET: SECRET } });
    expect(run.code).toBe(1);
    expect(run.stderr.match(/^line \d/gm)).toEqual(['line 2', 'line 3', 'line 6']);
    expect(run.stdout).toMatch(/^broken line +3$/m);
    expect(run.stdout).toMatch(/^accepted +2$/m);
    expect(media()).toEqual(['media000', 'media004']);
    const [first = 0, last = 0] = received.map(({ body }) => Date.parse(String(body.event_time)));
    expect(last - first).toBe(4000);
    expect(last).toBeGreaterThan(Date.UTC(2026, 0, 2));
  });
});
