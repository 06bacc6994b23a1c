import { z } from 'zod';
import { kindNames } from '../../notification/kinds.ts';

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** HTTPS, as the service demands, or plain HTTP to this machine, as a mock is used. */
function isReceiverUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
}

/** Clients written in Go send a list that they do not set as null. */
const siteIds = z.array(z.string()).nullish();

/** `metadata` of a creation. Bounds are not in the specification, so none are set; members it does not know are dropped. */
export const metadataSchema = z.object({
  name: z.string(),
  description: z
    .string()
    .nullish()
    .transform((text) => text ?? ''),
  webhook_url: z.string().refine(isReceiverUrl, 'must be an https URL, or an http URL on a loopback host'),
  events: z.array(z.enum(kindNames)),
  site_ids: siteIds.transform((ids) => ids ?? []),
});

/** `metadata` of an update: only the members to change. */
export const metadataChangeSchema = z.object({
  name: metadataSchema.shape.name.optional(),
  description: z
    .string()
    .nullish()
    .transform((text) => (text === null ? '' : text)),
  webhook_url: metadataSchema.shape.webhook_url.optional(),
  events: metadataSchema.shape.events.optional(),
  site_ids: siteIds.transform((ids) => ids ?? undefined),
});

/** What a webhook listens to and where it sends it. */
export type Metadata = z.output<typeof metadataSchema>;

/** What is given to create a webhook: `description` and `site_ids` may be left out. */
export type MetadataInput = z.input<typeof metadataSchema>;

/** The members of the metadata that an update sends. */
export type MetadataChange = z.output<typeof metadataChangeSchema>;
