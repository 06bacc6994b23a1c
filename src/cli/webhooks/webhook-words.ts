import { kindNames } from '../../notification/kinds.ts';
import type { Standings, WebhookView } from '../../rotation/webhook-view.ts';
import { line } from '../print.ts';

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
  return standings.of(id).hadOwn ? `${whose} verifies nothing any more` : `no secret of ${id} was stored`;
}

/** The warning that a deleted or replaced webhook still verifies; undefined if it does not. */
export function warningOfEnvironment(id: string, standings: Standings): string | undefined {
  if (standings.of(id).state !== 'environment') return undefined;
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
