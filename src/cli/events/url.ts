import { InvalidArgumentError } from 'commander';

/**
 * The URL of a receiver, for options.
 * @throws InvalidArgumentError if it is no http or https URL, or has a password in it
 */
export function receiverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.password || url?.username) throw new InvalidArgumentError('It must not have a password in it.');
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError('It must be a URL such as http://127.0.0.1:3000/webhooks/media.');
}
