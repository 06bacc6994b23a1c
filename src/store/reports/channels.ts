import { type Db, one } from '../dialect.ts';
import type { EventId } from '../stored.ts';

type ChannelState = 'active' | 'idle';

/** The state of a live channel by its newest event: of one event time, the one received later. */
export interface Channel {
  /** `channel:ID` */
  readonly resource: string;
  readonly siteId: string;
  readonly state: ChannelState;
  /** the event time of that event, milliseconds since the epoch */
  readonly since: number;
  readonly event: EventId;
}

export interface ChannelPage {
  readonly state?: ChannelState | undefined;
  /** only channels after this one, as `channel:ID` */
  readonly after?: string | undefined;
  readonly limit: number;
}

const COUNTS = `SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'idle') AS idle
  FROM channels`;
const AFTER_CHANNEL =
  '(since, resource) < (SELECT c.since, c.resource FROM channels c WHERE c.resource = $after)';

/** Live channels by their states, the latest change first. */
export async function channels(db: Db, { state, after, limit }: ChannelPage) {
  const counts = await one<Record<ChannelState, number>>(db, COUNTS);
  const place = after === undefined ? 'true' : AFTER_CHANNEL;
  const sql = `SELECT resource, site_id, state, since, event FROM channels WHERE state = coalesce($state, state) AND ${place}
    ORDER BY since DESC, resource DESC LIMIT $limit`;
  return { counts, channels: await db.all<Channel>(sql, { state, after, limit }) };
}
