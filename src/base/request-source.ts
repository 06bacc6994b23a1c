import { isIPv4 } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';

/** An IPv4 address, or an IPv6 address in brackets, each with a port. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([\da-f:.]+)\])(?::\d+)?$/i;

/**
 * The source of a request: its address without a port, which some proxies write into X-Forwarded-For, or the /56 network of an IPv6
 * address, as one host may have all of that.
 * @param address undefined: the connection is closed already
 */
export function sourceOf(address = ''): string {
  const [, v4, v6] = WITH_PORT.exec(address) ?? [];
  return ipKeyGenerator(v4 ?? v6 ?? address);
}

/** The network of an address, since one sender can have many addresses: /24 of IPv4, /56 of IPv6. */
export function networkOf(address: string): string {
  const source = sourceOf(address);
  return isIPv4(source) ? source.replace(/\d+$/, '0/24') : source;
}
