import { type Finding, findingsOf } from '../base/finding.ts';
import type { Webhook } from '../provider/index.ts';
import type { Verifiable } from '../store/check-store.ts';
import { reach } from './check-reach.ts';

interface Given {
  /** registered at the provider; undefined where that is not known */
  readonly webhooks: readonly Webhook[] | undefined;
  /** the webhooks whose notifications can be verified here; undefined where that is not known */
  readonly verifiable: Verifiable | undefined;
  /** to be reached in any case */
  readonly urls: readonly string[];
}

/**
 * Whether the webhooks that are verified here reach this receiver. Nothing is sent to the others: their URLs may be
 * those of somebody else.
 */
export async function* checkUrls({
  webhooks = [],
  verifiable,
  urls,
}: Given): AsyncGenerator<Finding, void, undefined> {
  const { skipped } = findingsOf('url');
  const ours = webhooks.filter(({ id }) => verifiable?.has(id));
  const targets = new Set([...urls, ...ours.map(({ metadata }) => metadata.webhook_url)]);
  for (const url of targets) yield await reach(url);
  if (targets.size === 0) {
    yield skipped(
      'no webhook with a stored secret is known to be registered: --url checks one that you give',
    );
  }
  const others = verifiable ? webhooks.filter(({ id }) => !verifiable.has(id)) : [];
  for (const webhook of others) yield unverifiable(webhook, targets);
}

function unverifiable({ id, metadata }: Webhook, targets: ReadonlySet<string>): Finding {
  const { warn, fail } = findingsOf('webhook');
  const { webhook_url: url } = metadata;
  if (targets.has(url)) {
    return fail(
      `${id} sends to ${url} too, but its secret is missing: webhooks import it; if it is lost, webhooks rotate ${id}`,
    );
  }
  return warn(
    `${id} (${url}) has no secret here: it belongs to another receiver, or webhooks import is still to come`,
  );
}
