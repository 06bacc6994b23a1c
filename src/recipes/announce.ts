import { fail, type HandlerContext, type Handlers, type Outcome, retry, skip } from '../index.ts';
import { ProviderError, type ScheduledStatus, type StatusesClient } from '../provider/index.ts';

// Somebody has scheduled a status about a media, far ahead, as nobody knows when the media will be ready. Once it is, the status
// comes forward, or each of them; if the media is deleted, the status is cancelled. Needs STATUSES_BASE_URL and STATUSES_TOKEN, of the user who
// has scheduled it: the API shows and changes that user's statuses only.

export interface AnnounceOptions {
  /** whether a status is about a media; without it, whether its text has the media's id as a word */
  readonly isAbout?: (status: ScheduledStatus, mediaId: string) => boolean;
}

/** The API refuses what is less than five minutes ahead. One more, as clocks differ and a request takes time. */
const LEAD_MS = 6 * 60_000;

/** Longer than a handler may ask for is no help: the event would fail instead. */
const LONGEST_AFTER_MS = 30 * 86_400_000;

/**
 * Handlers that bring the scheduled statuses about a media forward when the media becomes available, and cancel them when the media
 * is deleted. They may run any number of times, in any order, and end in the same way.
 */
export function announce({
  isAbout = names,
}: AnnounceOptions = {}): Required<Pick<Handlers, 'media_available' | 'media_deleted'>> {
  /** @param change gives a reason if there is nothing to change */
  const changeEach = async (
    mediaId: string,
    ctx: HandlerContext,
    change: (statuses: StatusesClient, status: ScheduledStatus) => Promise<string | undefined>,
  ): Promise<Outcome | undefined> => {
    const { statuses, signal } = ctx;
    if (!statuses) return fail('set STATUSES_BASE_URL and STATUSES_TOKEN, and replay the event');
    const unchanged: string[] = [];
    let changes = 0;
    try {
      for await (const status of statuses.list({}, { signal })) {
        if (!isAbout(status, mediaId)) continue;
        const reason = await change(statuses, status).catch((error) => goneReason(status, error));
        if (reason !== undefined) unchanged.push(reason);
        else changes++;
      }
    } catch (error) {
      return outcomeOf(error);
    }
    if (changes > 0) return undefined;
    return skip(
      unchanged.join('; ') ||
        'no scheduled status is about it: there was none, or it was published or cancelled',
    );
  };
  return {
    media_available: ({ media_id }, ctx) =>
      changeEach(media_id, ctx, async (statuses, { id, scheduled_at }) => {
        const at = ctx.now() + LEAD_MS;
        if (Date.parse(scheduled_at ?? '') <= at) return `status ${id} is published by then anyway`;
        await statuses.reschedule(id, new Date(at), { signal: ctx.signal });
        ctx.log.info({ media: media_id, status: id }, 'the status is brought forward');
        return undefined;
      }),
    media_deleted: ({ media_id }, ctx) =>
      changeEach(media_id, ctx, async (statuses, { id }) => {
        await statuses.cancel(id, { signal: ctx.signal });
        ctx.log.info({ media: media_id, status: id }, 'the status is cancelled');
        return undefined;
      }),
  };
}

/** Why a status was not changed: it is gone. @throws any other error */
function goneReason({ id }: ScheduledStatus, error: unknown): string {
  if (error instanceof ProviderError && error.code === 'not_found')
    return `status ${id} was published or cancelled at this moment`;
  throw error;
}

function names({ params: { text } }: ScheduledStatus, mediaId: string): boolean {
  return text.split(/[^\w-]+/).includes(mediaId);
}

/** @throws the error, for everything that the usual retries are right for */
function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof ProviderError)) throw error;
  const { code, message, retryAfterMs } = error;
  if (code === 'unauthorized' || code === 'forbidden') return fail(message);
  if (!retryAfterMs) throw error;
  // From a second to 30 days is what may be asked for.
  return retry({ after: Math.min(Math.max(1000, retryAfterMs), LONGEST_AFTER_MS), reason: message });
}
