import { z } from 'zod';
import type { Kind } from '../notification/kinds.ts';

/** Which kinds and sites a webhook is for, and where it sends their notifications. */
export interface WebhookMetadata {
  readonly name: string;
  readonly description: string;
  readonly webhook_url: string;
  /** Kinds of notification; more than this version knows, perhaps. */
  readonly events: readonly string[];
  readonly site_ids: readonly string[];
}

/** A webhook as the provider shows it. */
export interface Webhook {
  readonly id: string;
  readonly type: string;
  /** ISO 8601 with fractional seconds and a UTC offset. */
  readonly created: string;
  readonly last_modified: string;
  readonly metadata: WebhookMetadata;
  readonly schema: unknown;
}

/** A webhook as its creation shows it: the only time that the provider gives the secret away. */
export interface CreatedWebhook extends Webhook {
  readonly secret: string;
}

/** The metadata of a new webhook. */
export interface NewWebhook {
  readonly name: string;
  readonly description?: string;
  /** HTTPS. */
  readonly webhook_url: string;
  readonly events: readonly Kind[];
  readonly site_ids: readonly string[];
}

/** A page of webhooks. */
export interface WebhookPage {
  /** Counted from 1. */
  readonly page: number;
  readonly page_length: number;
  /** How many there are on all pages. */
  readonly total: number;
  readonly webhooks: readonly Webhook[];
}

const members = {
  id: z.string().min(1),
  type: z.string(),
  created: z.string(),
  last_modified: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    description: z
      .string()
      .nullable()
      .default('')
      .transform((text) => text ?? ''),
    webhook_url: z.string(),
    events: z.array(z.string()),
    site_ids: z.array(z.string()),
  }),
  schema: z.unknown(),
};

/** Answers may have members beyond those of the specification; they come through. */
export const webhookSchema: z.ZodType<Webhook> = z.looseObject(members);
export const createdWebhookSchema: z.ZodType<CreatedWebhook> = z.looseObject({
  ...members,
  secret: z.string().min(1),
});
export const webhookPageSchema: z.ZodType<WebhookPage> = z.looseObject({
  page: z.number(),
  page_length: z.number(),
  total: z.number(),
  webhooks: z.array(webhookSchema),
});

const refusal = z.object({
  errors: z
    .tuple([z.object({ code: z.string().optional(), description: z.string().optional() })])
    .rest(z.unknown()),
});

/** The code and words of `{"errors": [{"code", "description"}]}`. */
export function readWebhooksRefusal(body: unknown): {
  code?: string | undefined;
  reason?: string | undefined;
} {
  const parsed = refusal.safeParse(body);
  if (!parsed.success) return {};
  const [{ code, description }] = parsed.data.errors;
  return { code, reason: description };
}
