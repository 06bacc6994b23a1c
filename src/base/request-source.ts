import { isIPv4, isIPv6 } from 'node:net';

/** An IPv4 address, or an IPv6 address in brackets, each with a port. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([\da-f:.]+)\])(?::\d+)?$/i;

/**
 * The source of a request: its address without a port, which some proxies write into X-Forwarded-For, or the /56 network of an IPv6
 * address, as one host may have all of that.
 * @param address undefined: the connection is closed already
 */
export function sourceOf(address = ''): string {
  const [, v4, v6] = WITH_PORT.exec(address) ?? [];
  const bare = (v4 ?? v6 ?? address).replace(/^::ffff:(?=\d+\.)/i, ''); // so a listener of both kinds names IPv4 addresses
  return isIPv6(bare) ? prefixOf(bare) : bare;
}

/** The /56 network of an IPv6 address, in which all groups are written out. */
function prefixOf(address: string): string {
  const [start, end] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const shortened = Array<string>(8 - (start?.length ?? 0) - (end?.length ?? 0)).fill('0');
  const groups = end ? [...(start ?? []), ...shortened, ...end] : (start ?? []);
  const [first, second, third, fourth] = groups.map((group) => Number.parseInt(group, 16));
  const numbers = [first, second, third, (fourth ?? 0) & 0xff00];
  return `${numbers.map((number = 0) => number.toString(16)).join(':')}::/56`;
}

/** The network of an address, since one sender can have many addresses: /24 of IPv4, /56 of IPv6. */
export function networkOf(address: string): string {
  const source = sourceOf(address);
  return isIPv4(source) ? source.replace(/\d+$/, '0/24') : source;
}
