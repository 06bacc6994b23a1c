import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { tokenOf } from '../support/hs256.ts';
import { runService } from '../support/running-service.ts';

const ROUNDS = 140;
const WARM_UP = 20;
const body = (members: object) =>
  JSON.stringify({
    event: 'media_available',
    media_id: 'UUhbHm6C',
    webhook_id: 'known001',
    site_id: 'jsPxIVHl',
    event_time: '2023-11-14T22:30:10+00:00',
    ...members,
  });

/** A refused notification of a webhook, as long as those of all other classes. */
function refused(
  webhook_id: string,
  claims: object = {},
  header: object = { alg: 'HS256', typ: 'JWT' },
): Buffer {
  const text = body({ webhook_id });
  return request(tokenOf(body({ webhook_id, ...claims }), 'made up by somebody', { header }), text);
}

function request(token: string, text: string): Buffer {
  return Buffer.from(
    `POST /webhooks/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
}

const usual = tokenOf(body({}), 'made up by somebody');
/** The same class stands in it twice: how far the two are apart is noise. */
const CLASSES = {
  'a webhook with a secret': refused('known001'),
  'a webhook with a secret, again': refused('known001'),
  'a webhook with two secrets': refused('known002'),
  'a webhook without a secret': refused('nobody01'),
  'a webhook whose secret was retired': refused('retired1'),
  'claims that differ, of a webhook with a secret': refused('known001', { media_id: 'UUhbHm6D' }),
  'claims that differ, of a webhook without a secret': refused('nobody01', { media_id: 'UUhbHm6D' }),
  'another algorithm': refused('known001', {}, { alg: 'HS512', typ: 'JWT' }),
  'an unknown kind, which is never kept': request(
    tokenOf(body({ event: 'media_availabel' }), 'made up by somebody'),
    body({ event: 'media_availabel' }),
  ),
  'a token of one segment': request(usual.replaceAll('.', '_'), body({})),
  'a signature cut off': request(`${usual.slice(0, -1)}.`, body({})),
} as const;
type Class = keyof typeof CLASSES;

async function millisecondsOf(socket: Socket, bytes: Buffer): Promise<number> {
  const began = performance.now();
  socket.write(bytes);
  const [answer]: Buffer[] = await once(socket, 'data');
  const took = performance.now() - began;
  expect(answer?.toString('latin1', 9, 12)).toBe('401');
  return took;
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

test('the time that a refusal takes, over loopback, in turn with all others, is the same whatever it is for', async () => {
  const service = await runService({}, { REJECT_LIMIT: '1000000', WEBHOOK_SECRET: '' });
  try {
    await service.store.addSecret('known001', 'one secret');
    await service.store.addSecret('known002', 'one secret');
    await service.store.addSecret('known002', 'another secret');
    await service.store.addSecret('retired1', 'a retired secret');
    await service.store.retireSecret('retired1', 'a retired secret', Date.now() - 1000);
    const socket = connect(service.port, '127.0.0.1').setNoDelay(true);
    await once(socket, 'connect');
    const names = Object.keys(CLASSES) as Class[];
    const times = new Map<Class, number[]>(names.map((name) => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      // Beginning with another class each time, so that none always comes behind the same one.
      for (const [index] of names.entries()) {
        const name = names[(index * 7 + round) % names.length] ?? 'another algorithm';
        const took = await millisecondsOf(socket, CLASSES[name]);
        if (round >= WARM_UP) times.get(name)?.push(took);
      }
    }
    socket.destroy();
    const medians = new Map([...times].map(([name, all]) => [name, median(all)]));
    const halves = [...times.values()].map((all) =>
      Math.abs(median(all.filter((_, n) => n % 2 === 0)) - median(all.filter((_, n) => n % 2 === 1))),
    );
    const noise = Math.max(...halves);
    const all = [...medians.values()];
    const apart = Math.max(...all) - Math.min(...all);
    const table = [...medians].map(([name, ms]) => `${ms.toFixed(3)} ms  ${name}`).join('\n');
    process.stdout.write(`${table}\napart ${apart.toFixed(3)} ms, noise ${noise.toFixed(3)} ms\n`);
    expect(apart).toBeLessThan(3 * noise + 0.02 * median(all));
  } finally {
    await service.dispose();
  }
});
