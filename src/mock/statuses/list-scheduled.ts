import type { Response } from 'express';
import type { Call } from './call.ts';
import { linkHeader } from './link-header.ts';
import { page, readListQuery } from './list-query.ts';
import { scalar } from './scalars.ts';
import { scheduledStatusEntity } from './scheduled-status.ts';
import type { ScheduledStatuses } from './scheduled-statuses.ts';

/** `GET /api/v1/scheduled_statuses`: a page of what the caller has scheduled, and the way to the pages beside it. */
export function listScheduled(call: Call, scheduled: ScheduledStatuses, response: Response) {
  const { account, parameters, origin } = call;
  const query = readListQuery(parameters);
  const records = page(scheduled.of(account), query);
  const link = linkHeader({
    url: `${origin}/api/v1/scheduled_statuses`,
    ids: records.map(({ id }) => id),
    limit: query.limit,
    sentLimit: scalar(parameters.limit),
  });
  if (link !== undefined) response.set('Link', link);
  return records.map(scheduledStatusEntity);
}
