import { resolve } from 'node:path';
import { sqlitePathOf } from '../base/database-url.ts';
import type { Config } from '../config.ts';
import type { Handlers } from '../dispatch/handler.ts';
import { handlersFile } from '../dispatch/load-handlers.ts';
import type { ReadyApp } from '../dispatch/open-app.ts';
import { kindNames } from '../notification/kinds.ts';
import { type DevStage, SITE } from './stage.ts';

type Running = Pick<DevStage, 'mock' | 'service' | 'webhook'> & {
  readonly config: Config;
  readonly app: ReadyApp;
};

/** Tells the developer where everything is. */
export function introduction({ mock, service, webhook, config, app }: Running): string {
  const url = config.DATABASE_URL;
  return `receiver  ${webhook.metadata.webhook_url}
inspector ${service.adminUrl}
mock      ${mock.url}, with webhook ${webhook.id} for site ${SITE}; it begins anew at each restart
database  ${resolve(sqlitePathOf(url) ?? '')}, for other commands DATABASE_URL=${url}
handlers  ${handlersFile(config)}
          ${kindsOf(app.handlers)}
${service.pages.map((path) => `page      ${service.adminUrl}/app${path}\n`).join('')}
${exampleFor(app.handlers)}

  curl -X POST ${mock.url}/_mock/${hasMedia(app.handlers) ? 'media' : 'channels'} -H 'Content-Type: application/json' -d '{"site_id":"${SITE}"}'
`;
}

const hasMedia = (handlers: Handlers) =>
  kindNames.some((kind) => !kind.startsWith('channel_') && handlers[kind]);

function exampleFor(handlers: Handlers): string {
  return hasMedia(handlers)
    ? 'Upload a media and watch your handlers:'
    : 'Make a live channel; POST .../_mock/channels/ID/active puts it on air, and /idle off:';
}

/** The kinds that have a handler and those that have none, the shorter list of both. */
function kindsOf(handlers: Handlers): string {
  const has = kindNames.filter((kind) => handlers[kind] !== undefined);
  const lacks = kindNames.filter((kind) => handlers[kind] === undefined);
  if (lacks.length === 0) return 'for all kinds';
  return has.length > lacks.length
    ? `for all kinds but ${lacks.join(', ')}`
    : `for ${has.join(', ') || 'no kind'}`;
}
