import { line } from '../print.ts';
import { eventsInWords, secretInWords, type WebhookView } from './view.ts';

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
