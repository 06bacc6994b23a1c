import { KitError } from '../../base/errors.ts';
import { type Config, settingsSource } from '../../config.ts';
import { WebhooksClient } from '../../provider/index.ts';
import { say } from '../print.ts';

/**
 * The provider's webhooks API, as configured. Each wait for another attempt is printed to stderr.
 * @throws KitError CONFIG_INVALID without an API secret
 */
export function webhooksClient({ PROVIDER_BASE_URL, PROVIDER_API_SECRET }: Config): WebhooksClient {
  if (PROVIDER_API_SECRET === undefined) {
    throw new KitError(
      'CONFIG_INVALID',
      `PROVIDER_API_SECRET is not set: ${settingsSource()} has none; it takes the API secret of a v2 credential`,
    );
  }
  return new WebhooksClient({
    baseUrl: PROVIDER_BASE_URL,
    apiSecret: PROVIDER_API_SECRET,
    onRetry: ({ operation, waitMs, reason }) =>
      say(`${operation}: ${reason}; trying again in ${Math.ceil(waitMs / 1000)} s`),
  });
}
