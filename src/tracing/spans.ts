import {
  type Attributes,
  isSpanContextValid,
  type Link,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { KitError } from '../base/errors.ts';
import { type HandlerContext, type Wrapped, wrapApp } from '../dispatch/handler.ts';
import { parseReturned } from '../dispatch/outcome.ts';
import type { RecordOne } from '../receiver/acks.ts';
import type { Named } from '../store/stored.ts';

const tracer = trace.getTracer('webhook-receiver-kit');

/**
 * Records notifications, each in a span `record KIND`: a child of the request's span, where there is one. What it records has the context of
 * this span. The sender's `traceparent` becomes a link, and chooses neither the trace nor whether it is sampled.
 */
export const tracedRecord =
  (record: RecordOne): RecordOne =>
  (notification, traceparent) => {
    const links = linksTo(traceparent);
    const options = {
      kind: SpanKind.PRODUCER,
      links,
      attributes: attributesOf('record', 'send', notification),
    };
    return inSpan(`record ${notification.kind}`, options, (span) =>
      record({ ...notification, trace: traceparentOf(span) }),
    );
  };

/**
 * Runs the handlers of an app, each start in a trace of its own, as retries last for 21 hours: a span `process KIND`, linked to the receipt, and
 * in it a span `step` for each step of `ctx.once` that runs. Lines of `ctx.log` have its `trace_id`.
 */
export const tracedApp = <A extends Wrapped>(app: A): A =>
  wrapApp(app, (handler, _slot, event) => (body, ctx) => {
    const group = event.subscriber && { 'messaging.consumer.group.name': event.subscriber };
    const attributes = { ...attributesOf('process', 'process', event), ...group };
    const options = { kind: SpanKind.CONSUMER, root: true, links: linksTo(event.trace), attributes };
    const isLate = () => ctx.signal.aborted && ctx.signal.reason.name === 'TimeoutError';
    const work = async (span: Span) => {
      let open = 0;
      const once: HandlerContext['once'] = (step, fn) => {
        open++;
        const done = ctx.once(step, () =>
          inSpan('step', { attributes: { 'step.name': step } }, async () => fn()),
        );
        return done.finally(() => open--);
      };
      const log = isReal(span) ? ctx.log.child({ trace_id: span.spanContext().traceId }) : ctx.log;
      const outcome = await handler(body, { ...ctx, once, log });
      const { type } = parseReturned(outcome); // it throws where the attempt fails
      if (isLate()) failed(span, 'timeout');
      else if (type === 'error') failed(span, 'TypeError');
      else if (open > 0) failed(span, 'unawaited');
      else if (type === 'fail') failed(span, 'failed');
      return outcome;
    };
    return inSpan(`process ${event.kind}`, options, work, (error) => (isLate() ? 'timeout' : typeOf(error)));
  });

/** The attributes of a notification: its ids alone. As in the semantic conventions of OpenTelemetry for messaging, 1.45. */
const attributesOf = (name: string, type: string, { id, kind, resource }: Named): Attributes => ({
  'messaging.system.name': 'webhook_receiver_kit',
  'messaging.operation.name': name,
  'messaging.operation.type': type,
  'messaging.destination.name': kind,
  'messaging.message.id': id,
  'messaging.message.conversation_id': resource,
});

/** Works within a span. Of an error, the span has the type alone: its text may be anything. */
function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
  type = typeOf,
): Promise<T> {
  return tracer.startActiveSpan(name, options, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failed(span, type(error));
      throw error;
    } finally {
      span.end();
    }
  });
}

function typeOf(error: unknown): string {
  if (error instanceof KitError) return error.code;
  // A name may be anything, too.
  return Error.isError(error) && /^\w{1,80}$/.test(error.name) ? error.name : '_OTHER';
}

function failed(span: Span, type: string): void {
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR });
}

/** Not where the SDK goes with an older copy of OpenTelemetry's API than this one: then spans are empty. */
const isReal = (span: Span) => isSpanContextValid(span.spanContext());

/** A span's context, as W3C's header `traceparent` has it. */
function traceparentOf(span: Span): string | undefined {
  if (!isReal(span)) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** A link to the span that a `traceparent` names, if it names one. */
function linksTo(traceparent = ''): Link[] {
  const [, traceId = '', spanId = '', flags = '0'] =
    /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})\b/.exec(traceparent) ?? [];
  const linked = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(linked) ? [{ context: linked }] : [];
}
