import { kindNames } from '../../notification/kinds.ts';
import type { Webhook } from '../../provider/index.ts';
import type { Standings } from '../../rotation/secret-standings.ts';
import { replacedBy } from '../../rotation/successor-mark.ts';
import { line } from '../print.ts';

/** A webhook as the commands print it: its settings at the provider, and the state of its secrets. Never a secret. */
export interface WebhookView {
  readonly id: string;
  /** null where it is gone at the provider; undefined where the provider was not asked */
  readonly provider: ReturnType<typeof providerView> | null | undefined;
  readonly secret: ReturnType<Standings['stateOf']>;
  readonly live_secrets: number;
  /** until when further secrets verify */
  readonly retiring: readonly string[];
  /** the webhook that an unfinished rotation replaces by this one */
  readonly replaces: string | undefined;
}

/** @param webhook null where it is gone at the provider; undefined where the provider was not asked */
export function viewOf(id: string, webhook: Webhook | null | undefined, standings: Standings): WebhookView {
  const { live, retiring } = standings.of(id);
  return {
    id,
    provider: webhook && providerView(webhook),
    secret: standings.stateOf(id),
    live_secrets: live,
    retiring: retiring.map((time) => new Date(time).toISOString()),
    replaces: webhook ? replacedBy(webhook.metadata.description) : undefined,
  };
}

function providerView({ metadata, created, last_modified }: Webhook) {
  const { name, description, webhook_url, events, site_ids } = metadata;
  return { name, description, webhook_url, events, site_ids, created, last_modified };
}

/** Says how notifications of a webhook are verified, and what is wrong with it. */
export function secretInWords(view: WebhookView): string {
  const { secret, live_secrets: live, retiring, provider, replaces } = view;
  const words = {
    live: live === 1 ? 'live' : `live (${live})`,
    retiring: `retiring at ${retiring.join(', ')}`,
    missing: 'MISSING',
    environment: 'WEBHOOK_SECRET',
  }[secret];
  return [
    words,
    ...(secret === 'live' && retiring.length > 0 ? [`another retiring at ${retiring.join(', ')}`] : []),
    ...(provider === null ? ['gone at the provider'] : []),
    ...(replaces === undefined ? [] : [`half-way through replacing ${replaces}`]),
  ].join('; ');
}

/**
 * Says how the secrets of a webhook end that was deleted or replaced.
 * @param whose how the sentence names it: `its secret`
 * @param until when the last live one retires; null if none is live
 */
export function endInWords(
  id: string,
  { whose, until, standings }: { whose: string; until: string | null; standings: Standings },
): string {
  if (until !== null) return `${whose} verifies until ${until}`;
  return standings.hadOwn(id) ? `${whose} verifies nothing any more` : `no secret of ${id} was stored`;
}

/** The warning that a deleted or replaced webhook still verifies; undefined if it does not. */
export function warningOfEnvironment(id: string, standings: Standings): string | undefined {
  if (standings.stateOf(id) !== 'environment') return undefined;
  return `WEBHOOK_SECRET still verifies for ${id}: remove it from the environment once ${id} sends nothing more`;
}

/** The kinds, or `all` with their number. */
export function eventsInWords(events: readonly string[]): string {
  const isAll = kindNames.every((kind) => events.includes(kind));
  return isAll && events.length === kindNames.length ? `all ${events.length}` : events.map(line).join(', ');
}

/** A webhook as lines of names and values. */
export function inLines(view: WebhookView): string {
  const { provider } = view;
  const rows: [string, string][] = [['id', view.id]];
  if (provider) {
    rows.push(
      ['name', provider.name],
      ['description', provider.description],
      ['url', provider.webhook_url],
      ['sites', provider.site_ids.join(', ') || 'none'],
      ['events', eventsInWords(provider.events)],
      ['created', provider.created],
      ['modified', provider.last_modified],
    );
  }
  rows.push(['secret', secretInWords(view)]);
  return rows.map(([name, value]) => `${name.padEnd(11)}  ${line(value)}`.trimEnd()).join('\n');
}
