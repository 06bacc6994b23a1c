import { fail, type HandlerContext, type Handlers, type Outcome, retry, skip } from '../index.ts';
import { ProviderError, type ScheduledStatus, type StatusesClient } from '../provider/index.ts';

// Somebody has scheduled a status about a media, far ahead, as nobody knows when the media will be ready. Once it is, the status
// comes forward; if the media is deleted, the status is cancelled. Needs STATUSES_BASE_URL and STATUSES_TOKEN, of the user who
// has scheduled it: the API shows and changes that user's statuses only.

export interface AnnounceOptions {
  /** whether a status is about a media; without it, whether its text has the media's id as a word */
  readonly isAbout?: (status: ScheduledStatus, mediaId: string) => boolean;
  /** the time, in milliseconds since the epoch; the machine's without it */
  readonly now?: () => number;
}

/** The API refuses what is less than five minutes ahead. One more, as clocks differ and a request takes time. */
const LEAD_MS = 6 * 60_000;

/**
 * Handlers that bring the scheduled status of a media forward when the media becomes available, and cancel it when the media is
 * deleted. They may run any number of times, in any order, and end in the same way.
 */
export function announce({
  isAbout = names,
  now = Date.now,
}: AnnounceOptions = {}): Required<Pick<Handlers, 'media_available' | 'media_deleted'>> {
  const withStatus = async (
    mediaId: string,
    ctx: HandlerContext,
    change: (statuses: StatusesClient, status: ScheduledStatus) => Promise<Outcome | undefined>,
  ): Promise<Outcome | undefined> => {
    const { statuses, signal } = ctx;
    if (!statuses) return fail('set STATUSES_BASE_URL and STATUSES_TOKEN, and replay the event');
    try {
      for await (const status of statuses.list({}, { signal })) {
        if (isAbout(status, mediaId)) return await change(statuses, status);
      }
      return skip('no scheduled status is about it: there was none, it is out, or it was cancelled');
    } catch (error) {
      return outcomeOf(error);
    }
  };
  return {
    media_available: ({ media_id }, ctx) =>
      withStatus(media_id, ctx, async (statuses, { id, scheduled_at }) => {
        const at = now() + LEAD_MS;
        if (Date.parse(scheduled_at ?? '') <= at) return skip(`status ${id} is out by then anyway`);
        await statuses.reschedule(id, new Date(at), { signal: ctx.signal });
        ctx.log.info({ media: media_id, status: id }, 'the status comes forward');
        return undefined;
      }),
    media_deleted: ({ media_id }, ctx) =>
      withStatus(media_id, ctx, async (statuses, { id }) => {
        await statuses.cancel(id, { signal: ctx.signal });
        ctx.log.info({ media: media_id, status: id }, 'the status is cancelled');
        return undefined;
      }),
  };
}

function names({ params: { text } }: ScheduledStatus, mediaId: string): boolean {
  return text.split(/[^\w-]+/).includes(mediaId);
}

/** @throws the error, for everything that the usual retries are right for */
function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof ProviderError)) throw error;
  const { code, message, retryAfterMs } = error;
  if (code === 'not_found') return skip('the status went out, or was cancelled, in this moment');
  if (code === 'unauthorized' || code === 'forbidden') return fail(message);
  if (retryAfterMs !== undefined) return retry({ after: retryAfterMs, reason: message });
  throw error;
}
