import { type Retry, StatusesClient, WebhooksClient } from '../../src/provider/index.ts';
import { patient } from './support.ts';

/** Answers as the provider gives them. */
export const STATUS = {
  id: '1',
  scheduled_at: '2026-01-02T00:00:00.000Z',
  params: { text: 'x' },
  media_attachments: [],
};
export const HOOK = {
  id: '2yW4KmiG',
  type: 'webhook',
  created: '2024-08-27T00:20:57.123000+00:00',
  last_modified: '2024-08-27T00:20:57.123000+00:00',
  metadata: { name: 'x', description: '', webhook_url: 'https://x.example', events: [], site_ids: [] },
  schema: null,
  secret: 'shared',
};
export const NEW_HOOK = { name: 'x', webhook_url: 'https://x.example', events: [], site_ids: [] };
export const SOON = '2026-01-02T00:00:00Z';

/** Both clients, on a clock on which nothing waits, and what they say of their retries. */
export function clientsOf(baseUrl: string, more = {}) {
  const { clock, options } = patient();
  const retries: Retry[] = [];
  const all = { baseUrl, ...options, onRetry: (retry: Retry) => retries.push(retry), ...more };
  return {
    clock,
    retries,
    statuses: new StatusesClient({ ...all, token: 't0ken' }),
    webhooks: new WebhooksClient({ ...all, apiSecret: 's3cret' }),
  };
}
export type Clients = ReturnType<typeof clientsOf>;
