import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { rssOf } from '../support/memory.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';
import { postText } from '../support/raw-http.ts';
import { size } from '../support/sizes.ts';
import { genuineLoad, line, sendInTurn } from './load.ts';
import { makeManyEvents } from './many-events.ts';
import { FaultStage } from './service.ts';

const stage = new FaultStage();
const BURST = 20_000;
const CONNECTIONS = size({ small: [400], full: [400, 1000] });
const BACKLOG = size({ small: 200_000, full: 1_000_000 });
/** A third of what the backlog would take in memory. At this rate of handling, V8 takes some 100 of them for garbage. */
const MOST_MIB = 450;

const burst = `a burst of ${BURST} notifications over %i connections at once is answered to the last, each acknowledged or refused with 503, none lost, a third handled by then, and all after it`;

test.each(CONNECTIONS)(
  burst,
  async (connections) => {
    const service = await stage.start({ MAX_WAITING_ACKS: '200' });
    const port = Number(new URL(service.url).port);
    const each = BURST / connections;
    const bursts = Array.from({ length: connections }, (_, connection) =>
      Array.from({ length: each }, (__, index) => {
        const body = bodyOf(connection * each + index);
        const headers = [`Authorization: Bearer ${tokenOf(body, SECRET)}`, `Content-Length: ${body.length}`];
        return postText('/webhooks/media', headers, body, 'keep-alive');
      }),
    );
    const statuses: Record<string, number> = {};
    const answered: string[] = [];
    const store = await stage.open();
    const began = performance.now();
    await Promise.all(
      bursts.map((requests) =>
        sendInTurn(port, requests.values(), ({ status, body }) => {
          statuses[status] = (statuses[status] ?? 0) + 1;
          const { id } = JSON.parse(body) as { readonly id?: string };
          if (id !== undefined) answered.push(id);
        }),
      ),
    );
    const meanwhile = await store.count({ status: 'handled' });
    const answeredMs = Math.round(performance.now() - began);
    const rss = rssOf(service.child.pid);

    const recorded = await store.count({});
    while ((await store.count({ status: 'handled' })) < recorded) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const handledMs = Math.round(performance.now() - began);
    process.stdout.write(
      `burst of ${BURST} over ${connections} connections: ${JSON.stringify(statuses)} in ${answeredMs} ms, ${meanwhile} handled by then, all after ${handledMs} ms, RSS ${rss} MiB\n`,
    );
    const { 200: acknowledged = 0, 503: refused = 0 } = statuses;
    expect(meanwhile).toBeGreaterThanOrEqual(acknowledged / 3); // however hard acks press
    expect(acknowledged + refused).toBe(BURST);
    expect(answered).toHaveLength(acknowledged);
    expect(acknowledged).toBeGreaterThan(0);
    const found = await Promise.all(answered.map((id) => store.event(id)));
    expect(found.filter((event) => event === undefined)).toEqual([]);
    expect(recorded).toBe(acknowledged); // what was refused was not recorded
  },
  300_000,
);

test(`a backlog of ${BACKLOG} pending events is worked off in less than ${MOST_MIB} MiB, while new notifications are acknowledged`, async () => {
  const { path } = stage;
  await makeManyEvents({ path, events: BACKLOG, status: 'pending' });
  const service = await stage.start();
  const store = await stage.open();
  const began = performance.now();
  const samples: number[] = [];
  const seen = [];
  for (let round = 0; round < 10; round++) {
    seen.push(await genuineLoad({ url: service.url, requests: 1000 }));
    samples.push(rssOf(service.child.pid));
  }
  const seconds = (performance.now() - began) / 1000;
  const handled = await store.count({ status: 'handled' });
  process.stdout.write(
    `backlog of ${BACKLOG}: ${handled} handled in ${seconds.toFixed(0)} s (${Math.round(handled / seconds)} a second), RSS in MiB ${samples.join(' ')}\n` +
      `${seen.map((one, round) => line(`acks beside it, round ${round + 1}`, one)).join('\n')}\n`,
  );
  expect(seen.map(({ statuses }) => statuses)).toEqual(seen.map(() => ({ 200: 1000 })));
  expect(Math.max(...samples)).toBeLessThan(MOST_MIB);
  expect(handled).toBeGreaterThan(1000);
}, 600_000);
