import type { Attempt, StoredEvent } from '../../store/event-store.ts';

/** An event as `--json` prints it: named as in notifications, times in ISO 8601, null for what there is not. */
export function eventJson(event: StoredEvent) {
  return {
    id: event.id,
    kind: event.kind,
    resource: event.resource,
    site_id: event.siteId,
    webhook_id: event.webhookId,
    event_time: event.eventTime === 0 ? null : iso(event.eventTime),
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

/** An attempt as `--json` prints it. */
export function attemptJson(attempt: Attempt) {
  return {
    replay: attempt.replay,
    attempt: attempt.attempt,
    started_at: iso(attempt.startedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    error: attempt.error ?? null,
  };
}

/** A time for people and programs alike. */
export function iso(time: number): string {
  return new Date(time).toISOString();
}

function isoOrNull(time: number | undefined): string | null {
  return time === undefined ? null : iso(time);
}
