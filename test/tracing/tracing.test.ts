import { Server } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { systemClock } from '../../src/base/clock.ts';
import type { ReadyApp } from '../../src/dispatch/open-app.ts';
import { fail, type Handlers } from '../../src/index.ts';
import { keyOf, signNotification } from '../../src/notification/token.ts';
import { openStore } from '../../src/store/open.ts';
import { tracingOf } from '../../src/tracing/index.ts';
import { eventually } from '../support/eventually.ts';
import { bodyOf, SECRET } from '../support/notifications.ts';
import { only } from '../support/only.ts';
import { runService } from '../support/running-service.ts';
import { verified } from '../support/verified-notification.ts';

/** What a sender claims that its request is a part of. */
const CLAIMED = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 };
const traceparent = `00-${CLAIMED.traceId}-${CLAIMED.spanId}-01`;

const exporter = new InMemorySpanExporter();
const { emit } = Server.prototype;

/** As an instrumentation of node:http does it: each request is answered within a span. */
function emitWithin(this: Server, name: string, ...args: unknown[]): boolean {
  const work = (): boolean => Reflect.apply(emit, this, [name, ...args]);
  if (name !== 'request') return work();
  return trace.getTracer('http').startActiveSpan('POST', { kind: SpanKind.SERVER, root: true }, (span) => {
    Object(args[1]).once('finish', () => span.end());
    return work();
  });
}

const send = (url: string, body: string, secret = SECRET) => {
  const authorization = `Bearer ${signNotification(body, keyOf(secret))}`;
  return fetch(`${url}/webhooks/media`, { method: 'POST', headers: { authorization, traceparent }, body });
};

/** The spans that have ended whose names begin so, in the order of their beginnings. */
const spans = (name: string) =>
  exporter
    .getFinishedSpans()
    .filter((one) => one.name.startsWith(name))
    .sort((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1]);

const ended = (name: string, count: number) =>
  eventually(`${count} spans ${name} have ended`, () => spans(name).length >= count);

/** What a span tells, but for its own ids. */
const told = ({ name, kind, attributes, links, status, events }: ReadableSpan) => {
  const linked = links.map(({ context: { isRemote: _, ...named } }) => named);
  return { name, kind, attributes, linked, status, events };
};

test('loads nothing of OpenTelemetry, where no SDK runs', async () => {
  expect(await tracingOf()).toBeUndefined();
});

test('stores no context, when spans are empty, as those of an SDK with an older API', async () => {
  const { tracedRecord } = await import('../../src/tracing/spans.ts');
  const stored: unknown[] = [];
  const record = tracedRecord(async (one) => {
    stored.push(one.trace);
    return { status: 'accepted', id: one.id };
  });
  await record(verified({ media_id: 'a' }));
  expect(stored).toEqual([undefined]);
});

describe('where an SDK runs', () => {
  beforeAll(() => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const spanProcessors = [new SimpleSpanProcessor({ exporter })];
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors }));
    Server.prototype.emit = emitWithin;
  });
  afterAll(() => {
    Server.prototype.emit = emit;
  });
  afterEach(() => exporter.reset());

  test('each start is linked to the receipt, when a handler fails first, with ids and the type of the error alone', async () => {
    const handlers: Handlers = {
      async media_available(_event, ctx) {
        ctx.log.info('seen');
        await ctx.once('mail', () => trace.getTracer('own').startSpan('own').end());
        if (ctx.attempt === 1) throw new TypeError('https://cms.example says no');
      },
    };
    // The span in which a program starts a service goes on in all that the service does.
    const service = await trace
      .getTracer('own')
      .startActiveSpan('start', () => runService(handlers, { RETRY_BASE_MS: '1' }, { inspected: true }));
    const { id } = JSON.parse(await (await send(service.url, bodyOf(1))).text());
    await ended('process', 2);
    const [first, second] = spans('process') as [ReadableSpan, ReadableSpan];
    const http = only(spans('POST'));
    const record = only(spans('record'));
    const step = only(spans('step'));
    const attributes = (name: string, type: string) => ({
      'messaging.system.name': 'webhook_receiver_kit',
      'messaging.operation.name': name,
      'messaging.operation.type': type,
      'messaging.destination.name': 'media_available',
      'messaging.message.id': id,
      'messaging.message.conversation_id': 'media:media1',
    });
    const { traceId, spanId, traceFlags } = record.spanContext();
    const fine = { status: { code: SpanStatusCode.UNSET }, events: [] };
    const start = {
      name: 'process media_available',
      kind: SpanKind.CONSUMER,
      attributes: attributes('process', 'process'),
      linked: [{ traceId, spanId, traceFlags }],
      ...fine,
    };
    expect([record, first, second, step].map(told)).toEqual([
      {
        name: 'record media_available',
        kind: SpanKind.PRODUCER,
        attributes: attributes('record', 'send'),
        linked: [CLAIMED],
        ...fine,
      },
      {
        ...start,
        attributes: { ...start.attributes, 'error.type': 'TypeError' },
        status: { code: SpanStatusCode.ERROR },
      },
      start,
      { name: 'step', kind: SpanKind.INTERNAL, attributes: { 'step.name': 'mail' }, linked: [], ...fine },
    ]);
    const children = [record, first, second, step, ...spans('own')];
    const parents = children.map((one) => one.parentSpanContext?.spanId);
    const [ofHttp, ofFirst, ofStep] = [http, first, step].map((one) => one.spanContext().spanId);
    expect(parents).toEqual([ofHttp, undefined, undefined, ofFirst, ofStep]);
    const traces = [record, first, second].map((one) => one.spanContext().traceId);
    expect(service.log.withMessage('seen').map((line) => line.trace_id)).toEqual(traces.slice(1));
    const shown = await fetch(`${service.adminUrl}/api/events/${id}`);
    expect(JSON.parse(await shown.text()).trace_id).toBe(traceId);
    expect(await (await fetch(`${service.adminUrl}/events/${id}`)).text()).toContain(`>${traceId}<`);
  });

  test('a commit is no part of the trace of a request, when it records for one, as it may for many', async () => {
    const active: unknown[] = [];
    const onCommit = () => active.push(trace.getActiveSpan());
    await using store = await openStore({ DATABASE_URL: 'sqlite::memory:', clock: systemClock, onCommit });
    await trace.getTracer('own').startActiveSpan('request', () => store.queue.record(verified()));
    expect(active).toEqual([undefined]);
  });

  test('nothing but its request is traced, when a notification is not verified, whatever traceparent it has', async () => {
    const service = await runService({});
    expect((await send(service.url, bodyOf(2), 'a-secret-that-nobody-has-stored-yet')).status).toBe(401);
    await ended('POST', 1);
    const { name, linked } = told(only(exporter.getFinishedSpans()));
    expect([name, linked]).toEqual(['POST', []]);
  });

  test('a time-out, a given reason, a thrown text and a step without await have types of their own, when subscribers end so, all linked to one receipt', async () => {
    const active: unknown[] = [];
    const app: ReadyApp = {
      onDead: () => active.push(trace.getActiveSpan()?.spanContext().spanId),
      handlers: { media_available: async () => fail('the reason') },
      subscribers: {
        slow: { handlers: { media_available: (_, { signal }) => setTimeout(60_000, undefined, { signal }) } },
        odd: { handlers: { media_available: async () => 5 as never } },
        text: { handlers: { media_available: () => Promise.reject('a text') } },
        open: { handlers: { media_available: async (_, ctx) => void ctx.once('late', () => 1) } },
      },
    };
    const service = await runService({}, { HANDLER_TIMEOUT_MS: '1000', RETRY_BASE_MS: '60000' }, { app });
    await send(service.url, bodyOf(3));
    await ended('process', 5);
    await eventually('the app was told', () => active.length > 0);
    expect(active).toEqual([undefined]); // it is no part of the request's trace
    const { spanId } = only(spans('record')).spanContext();
    const ends = spans('process')
      .map(told)
      .map(({ attributes, linked }) => [
        attributes['messaging.consumer.group.name'] ?? 'main',
        attributes['error.type'],
        only(linked).spanId,
      ]);
    expect(ends.sort()).toEqual([
      ['main', 'failed', spanId],
      ['odd', 'TypeError', spanId],
      ['open', 'unawaited', spanId],
      ['slow', 'timeout', spanId],
      ['text', '_OTHER', spanId],
    ]);
  });
});
