import type { Metadata } from './metadata.ts';

/** A webhook as the API shows it. */
export interface Webhook {
  readonly id: string;
  readonly type: 'webhook';
  /** ISO 8601 with fractional seconds and an offset: `2024-08-27T00:20:57.123000+00:00` */
  readonly created: string;
  readonly last_modified: string;
  readonly metadata: Metadata;
  readonly schema: null;
  readonly relationships: Readonly<Record<string, never>>;
}

/** A webhook as its creation shows it, and nothing afterwards. */
export interface CreatedWebhook extends Webhook {
  readonly secret: string;
}
