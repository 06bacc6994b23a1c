import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { keyOf, signNotification } from '../src/notification/token.ts';
import { mediaId } from './fill.ts';
import { BENCH_SECRET } from './secret.ts';

// A sender at an even pace, in a process of its own, until it is killed. It says when something was not accepted.

export interface PacedOptions {
  readonly port: number;
  readonly perSecond: number;
  readonly connections: number;
}

const { port, perSecond, connections }: PacedOptions = JSON.parse(process.argv[2] ?? '{}');
/** Of so many media in turn. */
const MEDIA = 50_000;
const EVERY_MS = 10;

const key = keyOf(BENCH_SECRET);
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const series = Date.now().toString(36);

async function send(number: number): Promise<void> {
  const body = JSON.stringify({
    event: 'media_available',
    media_id: mediaId(number % MEDIA),
    webhook_id: '2yW4KmiG',
    site_id: `${series}-${number}`,
    event_time: new Date().toISOString(),
  });
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    authorization: `Bearer ${signNotification(body, key)}`,
  };
  const sent = request({ host: '127.0.0.1', port, agent, method: 'POST', path: '/webhooks/media', headers });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  answer.resume();
  if (answer.statusCode !== 200) throw new Error(`answered with ${answer.statusCode}`);
}

const began = performance.now();
for (let number = 0; ; ) {
  const due = ((performance.now() - began) / 1000) * perSecond;
  const batch: Promise<void>[] = [];
  while (number < due) batch.push(send(number++));
  await Promise.all([sleep(EVERY_MS), ...batch]);
}
