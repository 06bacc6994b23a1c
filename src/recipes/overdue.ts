import {
  durationOf,
  type HandlerContext,
  type Handlers,
  type Kind,
  type NotificationOf,
  type Outcome,
  skip,
} from '../index.ts';

// Tells of a media for which what should follow has not come in time. It is a subscriber of its own, so that it reminds itself beside
// whatever else an app sets: subscribers: { overdue: overdue({ ... }) }. Notifications come in any order, more than once, and are
// replayed: so each media keeps when it last began and last ended, and only what began after every end is waited for.

type MediaKind = { [K in Kind]: NotificationOf<K> extends { media_id: string } ? K : never }[Kind];

export interface OverdueOptions<K extends MediaKind, App> {
  /** from which kind on it waits, and for which: the deletion of the media ends it, too */
  readonly after: K;
  readonly want: MediaKind;
  /** `30m`, from when the notification of `after` is handled */
  readonly within: string;
  /** asked once, when the time is over: whether it may be late, as where a publish start lies ahead */
  readonly unless?: (event: NotificationOf<K>, ctx: HandlerContext<App>) => boolean | Promise<boolean>;
  /** takes the notification of `after`, and ends as any handler; it is not called again for one that it has handled */
  readonly onOverdue: (
    event: NotificationOf<K>,
    ctx: HandlerContext<App>,
  ) => Outcome | void | Promise<Outcome | void>;
}

/** When it last began and ended, by event time, in milliseconds since the epoch. A media that is told as overdue has ended, too. */
type Times = Readonly<Record<'begun' | 'ended', number>>;

/** Its name in ctx.state, and that of the reminder. */
const NAME = 'overdue';
const timesOf = ({ state }: HandlerContext) => state.get<Times>(NAME) ?? { begun: 0, ended: 0 };

/**
 * A subscriber that calls `onOverdue` if no notification of one kind follows one of another kind in time.
 * @throws TypeError if `within` is no length of time
 */
export function overdue<K extends MediaKind, App = unknown>(
  options: OverdueOptions<K, App>,
): { readonly handlers: Handlers<App> } {
  const { after, want, within, unless, onOverdue } = options;
  const ms = durationOf(within);
  if (!ms) throw new TypeError(`overdue: within must be a time such as 30m, not ${within}`);
  const end = ({ event_time }: { readonly event_time: string }, ctx: HandlerContext) => {
    const { begun, ...times } = timesOf(ctx);
    const ended = Math.max(times.ended, Date.parse(event_time));
    ctx.state.set(NAME, { begun, ended });
    if (begun <= ended) ctx.forget(NAME);
  };
  const begin = (event: NotificationOf<K>, ctx: HandlerContext) => {
    const { begun: last, ended } = timesOf(ctx);
    const begun = Date.parse(event.event_time);
    if (begun < last || begun <= ended) return skip('it has ended, or began again');
    ctx.state.set(NAME, { begun, ended });
    return ctx.remind(NAME, { after: ms, data: event });
  };
  return {
    handlers: {
      media_deleted: end,
      [want]: end,
      [after]: begin,
      async reminder({ data }, ctx) {
        const { begun, ended } = timesOf(ctx);
        if (begun <= ended) return skip('it has ended'); // where the reminder is replayed
        const event = data as NotificationOf<K>; // as `begin` set it
        if (await unless?.(event, ctx)) return skip('it may be late');
        const outcome = await onOverdue(event, ctx);
        if (!outcome) ctx.state.set(NAME, { begun, ended: begun });
        return outcome;
      },
    },
  };
}
