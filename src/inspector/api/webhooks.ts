import { standingsFrom, viewsOf } from '../../rotation/webhook-view.ts';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import type { Inspected } from './endpoint.ts';
import { refusalJson } from './refusals.ts';
import { NEAR, newestReceipt } from './stats.ts';

/**
 * The webhooks at the provider and those with a stored secret. The secrets themselves are not shown. `provider` is null if the provider has no
 * such webhook or did not say: `provider_unknown` says why. `fallback`: WEBHOOK_SECRET serves every webhook that never had a stored secret.
 * `last_accepted_at` is null if none of the newest events came by it.
 */
export async function webhooks(inspected: Inspected) {
  const { store, config, watch } = inspected;
  await watch.report();
  const [ever, secrets, refusals] = await Promise.all([
    store.everySecret(),
    store.secrets(),
    store.refusals(),
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
