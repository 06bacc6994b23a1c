import { type HandlerContext, type Handlers, type Outcome, skip } from '../index.ts';

// Something happens once for a media, an e-mail to its owner, say, however many events of that media come; and again when it was
// uploaded again. ctx.once would do it once for each event; what lasts from one event to the next stands in ctx.state. It stays
// there when the media is deleted: a late notification must not bring it about again.
//
// A reupload may come late, between two that are known, so that an upload has no number that lasts. What was done is kept with the
// time of the media_available that it was done for: whatever reuploads come, that time lies within one upload, and that one is done.
// The key counts how often it was done. So all attempts until one is stored have one key, even if a reupload comes between them.

/** One time that it happens. */
export interface Occasion {
  readonly mediaId: string;
  /** 0 for the upload that it is done for first, 1 for the next one, and so on */
  readonly upload: number;
  /** the same at every attempt until it is done: give it to whom you call, so that a crash in this moment does no harm */
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
  /** for which times in `available` it was done */
  readonly doneFor: readonly number[];
  /** how often it was done */
  readonly count: number;
}

/** An upload that became available. */
interface Upload {
  /** when its reupload began; -Infinity for the first upload */
  readonly begin: number;
  /** when the next reupload began; Infinity for the last one */
  readonly end: number;
  /** when it first became available */
  readonly available: number;
}

const NOTHING: Known = { available: [], reuploads: [], doneFor: [], count: 0 };
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
    const known = ctx.state.get<Known>(name) ?? NOTHING;
    const now: Known = { ...known, [what]: timesOf([...known[what], Date.parse(event.event_time)]) };
    // One at most: an event adds one upload, or cuts one in two, of which one is done.
    const due = uploadsOf(now).find((upload) => !now.doneFor.some((time) => isWithin(upload, time)));
    if (!due) {
      ctx.state.set(name, now);
      return skip('there is nothing to do for it');
    }
    const upload = now.count;
    await act(
      { mediaId: event.media_id, upload, idempotencyKey: `${name} ${event.media_id} ${upload}` },
      ctx,
    );
    ctx.state.set(name, { ...now, doneFor: timesOf([...now.doneFor, due.available]), count: upload + 1 });
    return undefined;
  };
  return {
    media_available: (event, ctx) => learn(event, ctx, 'available'),
    media_reuploaded: (event, ctx) => learn(event, ctx, 'reuploads'),
  };
}

/** Times in their order, each once: a replay says again what is known. */
function timesOf(times: readonly number[]): readonly number[] {
  return [...new Set(times)].toSorted((one, other) => one - other).slice(-MOST);
}

/** The uploads that became available: each lasts until the next reupload. */
function uploadsOf({ available, reuploads }: Pick<Known, 'available' | 'reuploads'>): Upload[] {
  return [-Infinity, ...reuploads].flatMap((begin, index) => {
    const end = reuploads[index] ?? Infinity;
    const first = available.find((time) => isWithin({ begin, end }, time));
    return first === undefined ? [] : [{ begin, end, available: first }];
  });
}

function isWithin({ begin, end }: Pick<Upload, 'begin' | 'end'>, time: number): boolean {
  return begin <= time && time < end;
}
