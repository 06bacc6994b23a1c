import type { Router } from 'express';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../random.ts';
import { defaultTokens, type Token } from './accounts.ts';
import { Gate } from './gate.ts';
import { IdempotencyKeys } from './idempotency-keys.ts';
import { MediaAttachments } from './media-attachments.ts';
import { NewStatuses } from './new-status.ts';
import { PublishedStatuses } from './published-statuses.ts';
import { ScheduledStatuses } from './scheduled-statuses.ts';
import { statusesRouter } from './statuses-routes.ts';

export { type Account, type Application, defaultTokens, type Token } from './accounts.ts';

/** How to make the mock of the scheduled statuses API. */
export interface StatusesApiOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Where request ids come from. */
  readonly requests: Random;
  /** Absolute address of the mock, for links in answers to requests without a usable Host header. */
  readonly baseUrl: () => string;
  /** The tokens that are known; `defaultTokens` if not given. */
  readonly tokens?: readonly Token[];
}

/** The scheduled statuses API, its state in memory. */
export interface StatusesApi {
  /** Serves everything under `/api/` and nothing else. Mount it at the root, before any body parser. */
  readonly router: Router;
  /** Forgets everything: statuses, media, keys, counted requests. */
  reset(): void;
}

/**
 * Makes the mock of the scheduled statuses API, as `docs/mock-statuses.md` describes it.
 * @example
 * const app = express().use(createStatusesApi({ clock, random, requests, baseUrl: () => 'http://127.0.0.1:4010' }).router);
 */
export function createStatusesApi(options: StatusesApiOptions): StatusesApi {
  const { clock, random, requests, baseUrl, tokens = defaultTokens } = options;
  const gate = new Gate(tokens, clock);
  const media = new MediaAttachments(random);
  const statuses = new PublishedStatuses(clock, media);
  const newStatuses = new NewStatuses(media, (id, viewer) => statuses.isVisible(id, viewer));
  const scheduled = new ScheduledStatuses(clock, media, statuses);
  const keys = new IdempotencyKeys(clock);
  const accounts = new Map(
    tokens.flatMap(({ account }) => (account === undefined ? [] : [[String(account.id), account] as const])),
  );
  return {
    router: statusesRouter({
      gate,
      media,
      statuses,
      newStatuses,
      scheduled,
      keys,
      accounts,
      clock,
      baseUrl,
      requests,
    }),
    reset() {
      for (const state of [gate, scheduled, statuses, media, keys]) state.clear();
    },
  };
}
