import type { z } from 'zod';
import type { Attempt, StoredEvent } from '../../store/event-store.ts';
import type { attemptAnswer, eventAnswer } from './answers.ts';
import { iso, isoOrNull } from './times.ts';

/** An event as the API writes it; the same members as `hookkit events --json` prints. */
export function eventJson(event: StoredEvent): z.input<typeof eventAnswer> {
  return {
    id: event.id,
    kind: event.kind,
    resource: event.resource,
    site_id: event.siteId,
    webhook_id: event.webhookId,
    event_time: eventTimeOf(event),
    received_at: iso(event.receivedAt),
    deliveries: event.deliveries,
    last_delivery_at: iso(event.lastDeliveryAt),
    status: event.status,
    attempts: event.attempts,
    replays: event.replays,
    next_attempt_at: isoOrNull(event.nextAttemptAt),
    handled_at: isoOrNull(event.handledAt),
    last_error: event.lastError ?? null,
    body: event.body ?? null,
  };
}

/** 0 is how the store writes that a notification has no time. */
export function eventTimeOf({ eventTime }: Pick<StoredEvent, 'eventTime'>): string | null {
  return eventTime === 0 ? null : iso(eventTime);
}

export function attemptJson(attempt: Attempt): z.input<typeof attemptAnswer> {
  return {
    replay: attempt.replay,
    attempt: attempt.attempt,
    started_at: iso(attempt.startedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    error: attempt.error ?? null,
  };
}
