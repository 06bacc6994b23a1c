import { createHash } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

/** The key of an entry of the quarantine: a token itself may have megabytes. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * A token as it is kept beside a body: without its payload, if that is the body's bytes, as the provider sends it (RFC 7515,
 * appendix F). An entry is more than half as large then, and takes as much less to write.
 */
export function detached(token: string, body: string): string {
  const [head = '', payload = '', signature = '', ...more] = token.split('.');
  if (more.length > 0 || payload !== encoded(body)) return token;
  return `${head}..${signature}`;
}

/** The whole of a token that may be kept so. */
export function attached(token: string, body: string): string {
  const [head, payload, signature, ...more] = token.split('.');
  if (!head || payload !== '' || !signature || more.length > 0) return token;
  return `${head}.${encoded(body)}.${signature}`;
}

function encoded(body: string): string {
  return Buffer.from(body).toString('base64url');
}

/**
 * The network of an address, since one sender can have many addresses: /24 of IPv4, /56 of IPv6. Texts that are not an
 * address share one network, whose name is empty.
 */
export function networkOf(address: string): string {
  const v4 = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
  if (isIPv4(v4)) return v4.replace(/\d+$/, '0/24');
  if (!isIPv6(address)) return '';
  const [first = 0, second = 0, third = 0, fourth = 0] = groupsOf(address.replace(/%.*$/, ''));
  const groups = [first, second, third, fourth & 0xff00];
  return `${groups.map((group) => group.toString(16)).join(':')}::/56`;
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head, tail] = address.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0').split('::'); // the last 32 bits are in no network's name
  const read = (part: string | undefined) =>
    part ? part.split(':').map((group) => Number.parseInt(group, 16)) : [];
  const [before, after] = [read(head), read(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}
