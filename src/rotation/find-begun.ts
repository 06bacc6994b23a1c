import { retireSecrets } from '../cli/webhooks/retire.ts';
import { allWebhooks } from '../provider/find-webhook.ts';
import type { Webhook } from '../provider/index.ts';
import type { RotationParts } from './rotation-options.ts';
import { replacedBy } from './successor-mark.ts';

/** What earlier runs have left of a rotation. */
export interface Begun {
  /** the successor whose secret is stored: to go on with */
  readonly successor: Webhook | undefined;
  /** others, which are of no use: a run ended before it had stored their secret */
  readonly orphans: readonly Webhook[];
}

/** Looks for webhooks that are marked as the successor of `id`. @throws ProviderError */
export async function findBegun(id: string, { client, store, signal }: RotationParts): Promise<Begun> {
  const marked = (await allWebhooks(client, signal)).filter(
    ({ metadata }) => replacedBy(metadata.description) === id,
  );
  const secrets = await store.secrets();
  const isLive = ({ id: webhook }: Webhook) =>
    secrets.some(({ webhookId, retireAt }) => webhookId === webhook && retireAt === undefined);
  const successor = marked.find(isLive);
  return { successor, orphans: marked.filter((webhook) => webhook !== successor) };
}

/** Takes away what earlier runs have left behind. @throws ProviderError */
export async function removeOrphans(orphans: readonly Webhook[], parts: RotationParts): Promise<void> {
  for (const { id } of orphans) {
    await parts.client.delete(id, { signal: parts.signal });
    await retireSecrets(id, parts); // two runs at once may both have stored one
    parts.onStep(`webhook ${id}, which an earlier run left behind, is deleted`);
  }
}
