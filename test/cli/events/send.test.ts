import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { checkAnswer } from '../../../src/replay/send-one.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openStore } from '../../../src/store/open.ts';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { type RunningService, runService } from '../../support/running-service.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine

let receiver: RunningService;
let recorded: EventStore;
beforeAll(async () => {
  receiver = await runService({}, { WEBHOOK_SECRET: SECRET });
  recorded = await openStore({ DATABASE_URL: `sqlite:${receiver.path}`, clock: systemClock, threads: false });
});
afterAll(async () => {
  await recorded.close();
  await receiver.stop();
});

const BODY = '{ "event": "media_renamed",\n  "webhook_id": "second01" }';

test('sends exactly the file under the secret of its webhook', async () => {
  const store = await desk().store();
  await store.secrets.add('first001', 'the-secret-of-the-first-webhook');
  await store.secrets.add('second01', SECRET);
  const to = ['--to', `${receiver.url}/webhooks/media`];
  const file = desk().write('body.json', BODY);
  expect(await desk().events(['send', '--body', file, ...to])).toMatchObject({ code: 0 });
  const [{ body } = {}] = await eventsIn(recorded, { webhook: 'second01' }, 1);
  expect(body).toBe(BODY);
});

test.each([200, 404, 500])(
  'fails, when a broken notification is answered %i, which is no refusal',
  (status) => {
    const answer = { type: 'answered', status, body: '' } as const;
    expect(() => checkAnswer(answer, 'forged')).toThrow(expect.objectContaining({ code: 'REPLAY_FAILED' }));
  },
);
