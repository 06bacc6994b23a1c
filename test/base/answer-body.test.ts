import { createServer, request, type ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AnswerTooLong, beginningOf, textOf } from '../../src/base/answer-body.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { reach } from '../../src/provider/check-urls.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { ReceiverClient } from '../../src/replay/receiver-client.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { eventually } from '../support/eventually.ts';
import { runs, size } from '../support/sizes.ts';

const MIB = 1024 * 1024;
const SPACES = Buffer.alloc(MIB, ' ');
const SWOLLEN = Buffer.alloc(size({ small: 4, full: 64 }) * MIB, ' ');
const BOMBS = {
  gzip: gzipSync(SWOLLEN),
  deflate: deflateSync(SWOLLEN),
  br: brotliCompressSync(SWOLLEN.subarray(0, 16 * MIB)),
};

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Somebody who answers without end, until the connection is closed. */
async function endless({ status = 200, coding }: { status?: number; coding?: keyof typeof BOMBS } = {}) {
  const seen = { answers: 0, closed: 0, bytes: 0 };
  const chunk = coding === undefined ? SPACES : BOMBS[coding];
  const server = createServer((asked, response: ServerResponse) => {
    seen.answers++;
    asked.resume();
    response.writeHead(status, {
      'Content-Type': 'application/json',
      ...(coding && { 'Content-Encoding': coding }),
    });
    response.on('close', () => seen.closed++);
    const write = () => {
      while (!response.destroyed) {
        seen.bytes += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
    };
    write();
  });
  const { url, close } = await listeningOn(server);
  closers.push(close);
  const isLetGo = () => eventually('every connection is closed', () => seen.closed === seen.answers);
  return { url, seen, isLetGo };
}

/** What the sockets of both sides hold, beside what was read. */
const HELD = 24 * MIB;

describe('an answer without end', () => {
  test.each([undefined, 'gzip', 'deflate', 'br'] as const)(
    'of a provider, in coding %s, is given up after 1 MiB, with an error that says so and its connection closed',
    async (coding) => {
      const { url, seen, isLetGo } = await endless(coding && { coding });
      const client = new WebhooksClient({ baseUrl: url, apiSecret: 's3cret' });
      const error = { code: 'unexpected_answer', status: 200, message: expect.stringContaining('1 MiB') };
      await expect(client.get('a')).rejects.toMatchObject(error);
      await isLetGo();
      expect(seen.answers).toBe(1);
      expect(seen.bytes).toBeLessThan(HELD);
    },
  );

  test('of a provider, when a webhook was being created, tells to look at the list first', async () => {
    const { url } = await endless({ status: 201 });
    const client = new WebhooksClient({ baseUrl: url, apiSecret: 's3cret' });
    const webhook = {
      name: 'a',
      description: '',
      webhook_url: 'https://a.example/',
      events: [],
      site_ids: [],
    };
    await expect(client.create(webhook)).rejects.toThrow(/1 MiB.*look at the list/);
  });

  test('of a provider, when it refuses with it, is an error of its status that says so', async () => {
    const { url, isLetGo } = await endless({ status: 403 });
    const client = new WebhooksClient({ baseUrl: url, apiSecret: 's3cret' });
    const error = { code: 'forbidden', message: expect.stringContaining('1 MiB') };
    await expect(client.get('a')).rejects.toMatchObject(error);
    await isLetGo();
  });

  test.each([undefined, 'gzip'] as const)(
    'of a URL that the doctor tries, in coding %s, is a FAIL that says so',
    async (coding) => {
      const { url, isLetGo } = await endless(coding && { coding });
      expect(await reach(url)).toMatchObject({ result: 'FAIL', detail: expect.stringContaining('1 MiB') });
      await isLetGo();
    },
  );

  test('of a receiver that events are sent to, is a failure that says so', async () => {
    const { url, seen, isLetGo } = await endless();
    const transport = new ReceiverClient(new URL(url));
    closers.push(() => transport.close());
    const answer = await transport.post({ body: '{}', token: 'x', timeoutMs: 60_000 });
    expect(answer).toEqual({ error: 'the answer is longer than 1 MiB' });
    await isLetGo();
    expect(seen.bytes).toBeLessThan(HELD);
  });

  test('of a receiver that the mock delivers to, is a failed attempt that says so', async () => {
    const { url, isLetGo } = await endless();
    const mock = await MockProvider.start({ port: 0, clock: new VirtualClock(), maxAttempts: 1 });
    closers.push(() => mock.close());
    mock.createWebhook({ name: 'a', webhook_url: url, events: ['channel_created'], site_ids: ['s'] });
    mock.createChannel({ site_id: 's' });
    await mock.settled();
    expect(mock.deliveries()).toMatchObject([
      { state: 'failed', attempts: [{ answer: null, error: 'the answer is longer than 1 MiB' }] },
    ]);
    await isLetGo();
  });
});

test('a list of a provider that never ends is given up, when it has had 10,000 webhooks, with an error', async () => {
  const one = {
    id: 'a',
    created: '2024-08-27T00:20:57.123000+00:00',
    last_modified: '2024-08-27T00:20:57.123000+00:00',
    type: 'webhook',
    metadata: { name: 'a', description: '', webhook_url: 'https://a.example/', events: [], site_ids: [] },
    schema: null,
    relationships: {},
  };
  const webhooks = JSON.stringify(Array.from({ length: 100 }, () => one));
  let pages = 0;
  const server = createServer((_request, response) => {
    pages++;
    response.end(`{"page":${pages},"page_length":100,"total":1e15,"webhooks":${webhooks}}`);
  });
  const { url, close } = await listeningOn(server);
  closers.push(close);
  const client = new WebhooksClient({ baseUrl: url, apiSecret: 's3cret' });
  const seen: string[] = [];
  const list = async () => {
    for await (const { id } of client.list()) seen.push(id);
  };
  await expect(list()).rejects.toMatchObject({ code: 'unexpected_answer' });
  expect([seen.length, pages]).toEqual([10_000, 100]);
});

describe('an answer that ends', () => {
  test('is read whole, when it is no longer than 1 MiB, whatever its chunks, and not one byte beyond', async () => {
    const sizes = fc.array(fc.nat(2000), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.constantFrom('a', 'é', '\u{1f600}', '\ufffd'), async (parts, character) => {
        const text = character.repeat(parts.reduce((sum, part) => sum + part, 0));
        const bytes = Buffer.from(text);
        const chunks = parts.map((part, index) => {
          const start = parts.slice(0, index).reduce((sum, one) => sum + one, 0);
          return bytes.subarray(start, start + part);
        });
        const rest = bytes.subarray(parts.reduce((sum, part) => sum + part, 0));
        expect(await textOf(new Response(new Blob([...chunks, rest])))).toBe(text);
      }),
      { numRuns: runs(50) },
    );
    expect(await textOf(new Response(SPACES))).toHaveLength(MIB);
    await expect(textOf(new Response(Buffer.alloc(MIB + 1, ' ')))).rejects.toThrow(AnswerTooLong);
    expect(await textOf(new Response(null, { status: 204 }))).toBe('');
  });

  test('gives its first characters, when only those are wanted, with none cut in two', async () => {
    const server = createServer((_request, response) => response.end('é'.repeat(300_000)));
    const { url, close } = await listeningOn(server);
    closers.push(close);
    const answer = new Promise<string>((resolve, reject) => {
      const sent = request(url, { agent: false }, (got) => beginningOf(got, 4096).then(resolve, reject));
      sent.on('error', reject).end();
    });
    expect(await answer).toBe('é'.repeat(4096));
  });
});
