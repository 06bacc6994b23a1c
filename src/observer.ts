import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { MonotonicClock } from './base/clock.ts';
import type { Config } from './config.ts';
import type { Refusal } from './notification/token.ts';
import type { AttemptOutcome, EventStore, Of, Recorded, Status } from './store/event-store.ts';

/** How one request on the webhook path was answered. It contains no part of a token. */
export interface Answered {
  readonly status: number;
  /** from the request's head to its answer */
  readonly ms: number;
  /** the client's address; empty if a notification was acknowledged */
  readonly source: string;
  /** the acknowledgement of a verified notification */
  readonly recorded?: Recorded | undefined;
  /** the public text of a refusal */
  readonly error?: string | undefined;
  /** why it could not be verified */
  readonly refusal?: Refusal | undefined;
  /** the kind that the body claims, verified or not; empty if there is none */
  readonly kind: string;
  readonly webhookId: string;
}

/** How one run of a handler ended. */
export interface HandlerRun extends Of {
  readonly kind: string;
  readonly outcome: AttemptOutcome;
  /** the status of the event from now on */
  readonly status: Status;
  readonly ms: number;
}

/**
 * Learns of requests, runs of handlers and commits while they happen: each call must return at once. The receiver, the store
 * and the dispatcher report to nobody else.
 */
export interface Observer {
  answered(answer: Answered): void;
  ran(run: HandlerRun): void;
  /** A commit ended, so many milliseconds after its writes were handed over. */
  committed(ms: number): void;
}

/** Shared by the parts of the service. */
export interface Parts {
  readonly config: Config;
  readonly store: EventStore;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly observer?: Observer | undefined;
  /** for developers: the log of every attempt is kept, and the inspector has a page that sends to the receiver */
  readonly isDev?: boolean | undefined;
}

/** The parts of the service that an admin listener works with. */
export interface AdminNeeds extends Parts {
  /** where the receiver listens */
  readonly port: number;
  /** the pages of the app, to be mounted at `/app` */
  readonly pages?: RequestHandler | undefined;
  /** Events may be ready, such as replayed events. */
  wake(): void;
}

export interface ReportNeeds extends Parts {
  /** the slots that there are handlers for; one of a subscriber ends in `@NAME` */
  readonly kinds: readonly string[];
  /** how many handlers run */
  running(): number;
}

/** Watches the service, and opens a listener of its own once the service runs. */
export interface Admin {
  readonly observer: Observer;
  /** Stores its counts every ten seconds, and that this process lives. @returns a function that stores the last counts, and ends it */
  keepReporting(needs: ReportNeeds): () => Promise<void>;
  start(needs: AdminNeeds): Promise<{ readonly url: string; stop(): Promise<void> }>;
}
