import { z } from 'zod';
import { standingsFrom, viewsOf } from '../../rotation/webhook-view.ts';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import type { Inspected } from './endpoint.ts';
import { refusalAnswer, refusalJson } from './refusals.ts';
import { NEAR, newestReceipt } from './stats.ts';

const time = z.iso.datetime();
const texts = z.array(z.string());

export const webhooksAnswer = z.object({
  webhooks: z.array(
    z.object({
      webhook_id: z.string(),
      provider: z
        .object({
          name: z.string(),
          description: z.string(),
          webhook_url: z.string(),
          events: texts,
          site_ids: texts,
          created: z.string(),
          last_modified: z.string(),
        })
        .nullable()
        .describe('null if the provider was not asked, or has no such webhook'),
      secret: z
        .enum(['live', 'retiring', 'missing', 'environment'])
        .describe('missing: nothing verifies its notifications; environment: WEBHOOK_SECRET does'),
      secrets: z.array(z.object({ created_at: time, retires_at: time.nullable() })),
      replaces: z
        .string()
        .nullable()
        .describe('the webhook that an unfinished rotation replaces by this one'),
      last_accepted_at: time.nullable().describe(`null if none of the newest ${NEAR} events came by it`),
      last_refused: refusalAnswer.nullable().describe('of the requests that named it'),
    }),
  ),
  fallback: z
    .boolean()
    .describe('WEBHOOK_SECRET is set: it serves every webhook that never had a stored secret'),
  asked_at: time
    .nullable()
    .describe('when the provider was last asked, once a minute at most; null without PROVIDER_API_SECRET'),
  ask_error: z.string().nullable().describe('why the provider did not say which webhooks it has'),
});

/** The webhooks at the provider and those with a stored secret. The secrets themselves are not shown. */
export async function webhooks(inspected: Inspected): Promise<z.input<typeof webhooksAnswer>> {
  const { store, config, watch } = inspected;
  const [ever, secrets, refusals, registered] = await Promise.all([
    store.everySecret(),
    store.secrets(),
    watch.stats.refusals(store),
    inspected.registered(),
  ]);
  const views = viewsOf(standingsFrom(config, ever, secrets), registered?.webhooks);
  const shown = views.map(async ({ id, provider, secret, replaces }) => {
    const refused = refusals.find(({ webhookId }) => webhookId === id);
    return {
      webhook_id: id,
      provider: provider ?? null,
      secret,
      secrets: secrets
        .filter(({ webhookId }) => webhookId === id)
        .map(({ createdAt, retireAt }) => ({ created_at: iso(createdAt), retires_at: isoOrNull(retireAt) })),
      replaces: replaces ?? null,
      last_accepted_at: isoOrNull(await newestReceipt(store, NEAR, id)),
      last_refused: refused ? refusalJson(refused) : null,
    };
  });
  return {
    webhooks: await Promise.all(shown),
    fallback: config.WEBHOOK_SECRET !== undefined,
    asked_at: isoOrNull(registered?.askedAt),
    ask_error: registered?.error ?? null,
  };
}
