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

/** The /56 network of an IPv6 address. */
function prefixOf(address: string): string {
  const groups = address.split(':');
  const gap = groups.indexOf('');
  const all = gap < 0 ? groups : groups.toSpliced(gap, 1, ...Array<string>(9 - groups.length).fill('0'));
  const numbers = all.slice(0, 4).map((group) => Number.parseInt(group, 16) || 0);
  return `${[...numbers.slice(0, 3), (numbers[3] ?? 0) & 0xff00].map((one) => one.toString(16)).join(':')}::/56`;
}

/** The network of an address, since one sender can have many addresses: /24 of IPv4, /56 of IPv6. */
export function networkOf(address: string): string {
  const source = sourceOf(address);
  return isIPv4(source) ? source.replace(/\d+$/, '0/24') : source;
}
