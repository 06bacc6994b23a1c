import { z } from 'zod';

/** Who sees a status. */
export type Visibility = 'public' | 'unlisted' | 'private' | 'direct';

/** A status to schedule or publish. */
export interface NewStatus {
  /** The text; may be empty if there are media. */
  readonly status: string;
  /** Ids of up to 4 uploaded files. */
  readonly media_ids?: readonly string[];
  readonly poll?: NewPoll;
  readonly in_reply_to_id?: string;
  readonly sensitive?: boolean;
  /** A content warning. */
  readonly spoiler_text?: string;
  readonly visibility?: Visibility;
}

/** A poll: 2 to 4 options of up to 50 characters, open from 5 minutes to a month. */
export interface NewPoll {
  readonly options: readonly string[];
  /** Seconds. */
  readonly expires_in: number;
  readonly multiple?: boolean;
  readonly hide_totals?: boolean;
}

/** The parameters of a scheduled status, with the types that they were sent with. */
export interface StatusParams {
  readonly text: string;
  readonly poll: Readonly<Record<string, unknown>> | null;
  readonly media_ids: readonly (string | number)[] | null;
  readonly sensitive: boolean | string | number | null;
  readonly visibility: string | null;
  readonly idempotency: string | null;
  readonly scheduled_at: string | null;
  readonly spoiler_text: string | null;
  readonly application_id: number | null;
  readonly in_reply_to_id: number | string | null;
}

/** A file of a status. */
export interface MediaAttachment {
  readonly id: string;
  readonly type: string;
  readonly url: string | null;
  readonly description: string | null;
}

/** A scheduled status. */
export interface ScheduledStatus {
  readonly id: string;
  /** ISO 8601; null if the provider once took a date that it could not read: such a status is never published. */
  readonly scheduled_at: string | null;
  readonly params: StatusParams;
  readonly media_attachments: readonly MediaAttachment[];
}

/** A published status. */
export interface Status {
  readonly id: string;
  readonly created_at: string;
  /** HTML. */
  readonly content: string;
  readonly visibility: string;
  readonly url: string | null;
}

/** A member that an answer leaves out counts as null. */
const text = z.string().nullable().default(null);

const params: z.ZodType<StatusParams> = z.looseObject({
  text: z.string(),
  poll: z.record(z.string(), z.unknown()).nullable().default(null),
  media_ids: z
    .array(z.union([z.string(), z.number()]))
    .nullable()
    .default(null),
  sensitive: z.union([z.boolean(), z.string(), z.number()]).nullable().default(null),
  visibility: text,
  idempotency: text,
  scheduled_at: text,
  spoiler_text: text,
  application_id: z.number().nullable().default(null),
  in_reply_to_id: z.union([z.number(), z.string()]).nullable().default(null),
});

/** Answers may have members beyond those of the specification; they come through. */
export const scheduledStatusSchema: z.ZodType<ScheduledStatus> = z.looseObject({
  id: z.string().min(1),
  scheduled_at: z.string().nullable(),
  params,
  media_attachments: z.array(
    z.looseObject({ id: z.string(), type: z.string(), url: text, description: text }),
  ),
});
export const scheduledStatusesSchema = z.array(scheduledStatusSchema);
export const statusSchema: z.ZodType<Status> = z.looseObject({
  id: z.string().min(1),
  created_at: z.string(),
  content: z.string(),
  visibility: z.string(),
  url: text,
});

const refusal = z.object({ error: z.string() });

/** The words of `{"error": "..."}`. */
export function readStatusesRefusal(body: unknown): { reason?: string } {
  const parsed = refusal.safeParse(body);
  return parsed.success ? { reason: parsed.data.error } : {};
}
