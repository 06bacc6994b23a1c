import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { AnswerTooLong, textOf } from '../../src/base/answer-body.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { reach } from '../../src/provider/checks.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { ReceiverClient } from '../../src/replay/receiver-client.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { eventually } from '../support/eventually.ts';

const MIB = 1024 * 1024;
const SPACES = Buffer.alloc(4 * MIB, ' ');
const CHUNKS = { identity: SPACES, gzip: gzipSync(SPACES) };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Answers without end, until the connection is closed. */
async function endless(coding: keyof typeof CHUNKS) {
  const seen = { answers: 0, closed: 0 };
  const server = createServer((_asked, response) => {
    seen.answers++;
    response.on('close', () => seen.closed++);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Encoding': coding });
    const write = () => {
      while (!response.destroyed)
        if (!response.write(CHUNKS[coding])) return void response.once('drain', write);
    };
    write();
  });
  const { url, close } = await listeningOn(server);
  closers.push(close);
  return { url, seen };
}

/** Everybody who reads an answer of others. Resolves with what they tell of it. */
const readers: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'the client of a provider': (baseUrl) =>
    new WebhooksClient({ baseUrl, apiSecret: 's3cret' }).get('a').catch((error) => error.message),
  'the doctor': async (url) => (await reach(url)).detail,
  'a replay to a receiver': async (url) => {
    const client = new ReceiverClient(new URL(url));
    closers.push(() => client[Symbol.dispose]());
    return Object(await client.post({ body: '{}', token: 'x', timeoutMs: 60_000 })).error;
  },
  'the mock': async (url) => {
    const mock = await MockProvider.start({ port: 0, clock: new VirtualClock(), maxAttempts: 1 });
    closers.push(() => mock.close());
    mock.createWebhook({ name: 'a', webhook_url: url, events: ['channel_created'], site_ids: ['s'] });
    mock.createChannel({ site_id: 's' });
    await mock.settled();
    return mock.deliveries()[0]?.attempts[0]?.error;
  },
};

test.each(Object.keys(readers))(
  'an answer without end to %s is given up after 1 MiB, and its connection closed',
  async (reader) => {
    for (const coding of ['identity', 'gzip'] as const) {
      const { url, seen } = await endless(coding);
      expect(await readers[reader]?.(url)).toContain('1 MiB');
      await eventually('every connection is closed', () => seen.closed === seen.answers);
    }
  },
);

test('an answer is read whole, when it is no longer than 1 MiB, and not one byte beyond', async () => {
  const characters = Array.from(Buffer.from('é\u{1f600}'), (byte) => Buffer.of(byte));
  expect(await textOf(new Response(new Blob(characters)))).toBe('é\u{1f600}');
  expect(await textOf(new Response(SPACES.subarray(0, MIB)))).toHaveLength(MIB);
  await expect(textOf(new Response(SPACES.subarray(0, MIB + 1)))).rejects.toThrow(AnswerTooLong);
});
