import type { Db } from '../dialect.ts';
import type { EventId } from '../stored.ts';

export type ChannelState = 'active' | 'idle';

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

export interface Channels {
  readonly counts: Readonly<Record<ChannelState, number>>;
  /** the latest change of state first */
  readonly channels: readonly Channel[];
}

const sumsByState = 'SELECT state, count(*) AS n FROM channels GROUP BY state';
const AFTER_CHANNEL =
  '(since, resource) < (SELECT c.since, c.resource FROM channels c WHERE c.resource = $after)';

/** Live channels by their states, the latest change first. */
export async function channels(db: Db, { state, after, limit }: ChannelPage): Promise<Channels> {
  const sums = await db.all<{ state: string; n: number }>(sumsByState);
  const sumOf = (name: string) => Number(sums.find((sum) => sum.state === name)?.n ?? 0);
  const counts = { active: sumOf('active'), idle: sumOf('idle') };
  const ofState = state === undefined ? 'true' : 'state = $state';
  const place = after === undefined ? 'true' : AFTER_CHANNEL;
  const sql = `SELECT resource, site_id, state, since, event FROM channels WHERE ${ofState} AND ${place}
    ORDER BY since DESC, resource DESC LIMIT $limit`;
  return { counts, channels: await db.all<Channel>(sql, { state, after, limit }) };
}
