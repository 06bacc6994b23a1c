import type { Database } from 'better-sqlite3';
import { eventId } from '../../event-id.ts';
import type { Channel, ChannelPage, ChannelState, Channels } from '../../event-search.ts';
import type { EventRow } from '../tables/events-view.ts';

type Row = Omit<Channel, 'event'> & Pick<EventRow, 'event_time' | 'digest'>;

export function channels(db: Database): (page: ChannelPage) => Channels {
  const count = db.prepare<[ChannelState], number>('SELECT count(*) FROM channels WHERE state = ?').pluck();
  const sinceOf = db
    .prepare<[string | undefined], number>('SELECT since FROM channels WHERE resource = ?')
    .pluck();
  const list = (where: string) =>
    db.prepare<object, Row>(
      `SELECT channels.resource, channels.site_id AS siteId, state, since, event_time, digest
       FROM channels JOIN ledger ON ledger.seq = channels.event
       WHERE ${where} AND (since, channels.resource) < (:since, :after)
       ORDER BY since DESC, channels.resource DESC LIMIT :limit`,
    );
  const ofState = list('state = :state');
  const ofAny = list('TRUE');
  return ({ state, after, limit }) => {
    const from = { since: sinceOf.get(after) ?? Number.MAX_SAFE_INTEGER, after: after ?? '' };
    const rows = state ? ofState.all({ state, ...from, limit }) : ofAny.all({ ...from, limit });
    return {
      counts: { active: count.get('active') ?? 0, idle: count.get('idle') ?? 0 },
      channels: rows.map(({ event_time, digest, ...row }) => ({
        ...row,
        event: eventId(event_time, digest),
      })),
    };
  };
}
