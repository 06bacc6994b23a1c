import { sentBack } from '../cli/webhooks/metadata.ts';
import { ProviderError, type Webhook } from '../provider/index.ts';
import type { RotationParts } from './rotation-options.ts';
import { withMarker } from './successor-mark.ts';

/**
 * Makes the successor of a webhook and stores its secret. The secret is not known before the answer to the creation, so
 * the successor gets no sites at first: it sends nothing that could not be verified yet.
 * @throws ProviderError
 */
export async function beginSuccessor(old: Webhook, parts: RotationParts): Promise<Webhook> {
  const { secret, ...successor } = await create(old, parts);
  await parts.store.addSecret(successor.id, secret);
  parts.onStep(`the secret of webhook ${successor.id} is stored`);
  return successor;
}

async function create(old: Webhook, { client, signal, onStep }: RotationParts) {
  const whole = sentBack(old.metadata);
  const described = (isWhole: boolean) =>
    withMarker(whole.description ?? '', { replaces: old.id, whole: isWhole });
  try {
    const inert = { ...whole, site_ids: [], description: described(false) };
    const created = await client.create(inert, { signal });
    onStep(`webhook ${created.id} is registered, without sites yet`);
    return created;
  } catch (error) {
    if (!isRefused(error)) throw error;
    // What it sends until its secret is stored, a moment later, waits in quarantine and is admitted from there.
    const created = await client.create({ ...whole, description: described(true) }, { signal });
    onStep(`webhook ${created.id} is registered, with all sites: the provider takes none without`);
    return created;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof ProviderError && (error.status === 400 || error.status === 422);
}
