import { z } from 'zod';
import { standingsFrom, viewsOf } from '../../rotation/webhook-view.ts';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import { type Inspected, time } from './endpoint.ts';
import { refusalAnswer, refusalJson } from './refusals.ts';
import { NEAR, newestReceipt } from './stats.ts';

export const webhooksAnswer = z.object({
  webhooks: z.array(
    z.object({
      webhook_id: z.string(),
      provider: z
        .looseObject({ name: z.string(), webhook_url: z.string(), site_ids: z.array(z.string()) })
        .nullable()
        .describe('null if the provider has no such webhook, or did not say'),
      secret: z
        .enum(['live', 'retiring', 'missing', 'environment'])
        .describe('missing: nothing verifies its notifications; environment: WEBHOOK_SECRET does'),
      secrets: z.array(z.object({ created_at: time, retires_at: time.nullable() })),
      last_accepted_at: time.nullable().describe(`null if none of the newest ${NEAR} events came by it`),
      last_refused: refusalAnswer.nullable().describe('of the requests that named it'),
    }),
  ),
  provider_unknown: z
    .string()
    .nullable()
    .describe('why the provider did not say which webhooks it has; it is asked once a minute at most'),
  fallback: z
    .boolean()
    .describe('WEBHOOK_SECRET is set: it serves every webhook that never had a stored secret'),
});

/** The webhooks at the provider and those with a stored secret. The secrets themselves are not shown. */
export async function webhooks(inspected: Inspected): Promise<z.input<typeof webhooksAnswer>> {
  const { store, config, watch } = inspected;
  const [ever, secrets, refusals] = await Promise.all([
    store.everySecret(),
    store.secrets(),
    watch.stats.refusals(store),
  ]);
  const registered = await inspected.registered(Math.max(0, ...secrets.map(({ createdAt }) => createdAt)));
  const known = 'webhooks' in registered ? registered.webhooks : undefined;
  const shown = viewsOf(standingsFrom(config, ever, secrets), known).map(async ({ id, provider, secret }) => {
    const refused = refusals.find(({ webhookId }) => webhookId === id);
    return {
      webhook_id: id,
      provider: provider ?? null,
      secret,
      secrets: secrets
        .filter(({ webhookId }) => webhookId === id)
        .map(({ createdAt, retireAt }) => ({ created_at: iso(createdAt), retires_at: isoOrNull(retireAt) })),
      last_accepted_at: isoOrNull(await newestReceipt(store, NEAR, id)),
      last_refused: refused ? refusalJson(refused) : null,
    };
  });
  return {
    webhooks: await Promise.all(shown),
    provider_unknown: 'unknown' in registered ? registered.unknown : null,
    fallback: config.WEBHOOK_SECRET !== undefined,
  };
}
