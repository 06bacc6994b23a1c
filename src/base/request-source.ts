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
