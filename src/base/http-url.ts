/** An http or https URL; undefined for any other text, and with a user name or password, which every error about it would show. */
export function httpUrlOf(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/** A credential that fetch can send in a header: printable ASCII without spaces. */
export const CREDENTIAL = /^[\x21-\x7e]+$/;

/** Whether the path of a request can be appended to it: behind `?` or `#` it would not be a path. */
export function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^\s?#]+$/i.test(text) && httpUrlOf(text) !== undefined;
}
