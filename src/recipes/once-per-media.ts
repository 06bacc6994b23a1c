import { type HandlerContext, type Handlers, type Outcome, skip } from '../index.ts';

// Something happens once for a media, an e-mail to its owner, say, however many events of that media come; and again when it was
// uploaded again. ctx.once would do it once for each event; what lasts from one event to the next stands in ctx.state. It stays
// there when the media is deleted: a late notification must not bring it about again.

/** One time that it happens. */
export interface Occasion {
  readonly mediaId: string;
  /** 0 for the first upload, 1 for the first reupload, and so on */
  readonly upload: number;
  /** the same whenever it is tried for this upload: give it to whom you call, so that a crash in this moment does no harm */
  readonly idempotencyKey: string;
}

export interface OncePerMediaOptions {
  /** names it in the state and in idempotency keys; two recipes on one media need two names */
  readonly name: string;
  /** does it; throws if it could not, and is called again */
  readonly act: (occasion: Occasion, ctx: HandlerContext) => Promise<void>;
}

/** What is known of a media. Times are milliseconds since the epoch. */
interface Known {
  /** when it became available */
  readonly available: readonly number[];
  /** when a reupload began */
  readonly reuploads: readonly number[];
  /** for which uploads it was done */
  readonly done: readonly number[];
}

const NOTHING: Known = { available: [], reuploads: [], done: [] };
/** More of one media would be no upload by people. */
const MOST = 200;

/** Handlers that do something once for each upload of a media that becomes available, in whatever order notifications come. */
export function oncePerMedia({
  name,
  act,
}: OncePerMediaOptions): Required<Pick<Handlers, 'media_available' | 'media_reuploaded'>> {
  const learn = async (
    event: { readonly media_id: string; readonly event_time: string },
    ctx: HandlerContext,
    what: 'available' | 'reuploads',
  ): Promise<Outcome | undefined> => {
    const known: Known = ctx.state.get<Known>(name) ?? NOTHING;
    const times = [...known[what], Date.parse(event.event_time)]
      .toSorted((one, other) => one - other)
      .slice(-MOST);
    const now: Known = { ...known, [what]: times };
    const due = uploadsOf(now).difference(new Set(now.done));
    for (const upload of due) {
      const idempotencyKey = `${name} ${event.media_id} ${upload}`;
      await act({ mediaId: event.media_id, upload, idempotencyKey }, ctx);
    }
    ctx.state.set(name, { ...now, done: [...now.done, ...due] });
    return due.size === 0 ? skip('there is nothing to do for it') : undefined;
  };
  return {
    media_available: (event, ctx) => learn(event, ctx, 'available'),
    media_reuploaded: (event, ctx) => learn(event, ctx, 'reuploads'),
  };
}

/** The uploads that became available: each time belongs to the last reupload before it. */
function uploadsOf({ available, reuploads }: Known): Set<number> {
  return new Set(available.map((time) => reuploads.filter((reupload) => reupload <= time).length));
}
