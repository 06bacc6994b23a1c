import type { Request } from 'express';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../random.ts';
import type { Account } from './accounts.ts';
import type { Caller } from './authorization.ts';
import type { Gate } from './gate.ts';
import type { IdempotencyKeys } from './idempotency-keys.ts';
import type { MediaAttachments } from './media-attachments.ts';
import type { Parameters } from './nested-parameters.ts';
import type { Drafts } from './new-status.ts';
import { originOf } from './origin.ts';
import type { Statuses } from './published-statuses.ts';
import type { ScheduledStatuses } from './scheduled-statuses.ts';

/** The parts that the operations work with. */
export interface Parts {
  readonly gate: Gate;
  readonly media: MediaAttachments;
  readonly statuses: Statuses;
  readonly drafts: Drafts;
  readonly scheduled: ScheduledStatuses;
  readonly keys: IdempotencyKeys;
  /** The users that there are, by id. */
  readonly accounts: ReadonlyMap<string, Account>;
  readonly clock: Clock;
  readonly baseUrl: () => string;
  /** Where request ids come from. */
  readonly requests: Random;
}

/** A request that has passed the gate and has been read. */
export interface Call extends Caller {
  readonly parameters: Parameters;
  /** The `:id` of the path, or the empty string. */
  readonly id: string;
  /** Where the caller reached the mock, without a slash at the end. */
  readonly origin: string;
  /** The `Idempotency-Key`, or the empty string. */
  readonly idempotencyKey: string;
}

export function callOf(
  request: Request,
  caller: Caller,
  parameters: Parameters,
  baseUrl: () => string,
): Call {
  return {
    ...caller,
    parameters,
    id: idOf(request),
    origin: originOf(request, baseUrl),
    idempotencyKey: request.get('idempotency-key')?.trim() ?? '',
  };
}

/** The `:id` of the path, or the empty string. */
export function idOf({ params: { id } }: Request): string {
  return typeof id === 'string' ? id : '';
}
