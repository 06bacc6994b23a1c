import { ipKeyGenerator } from 'express-rate-limit';

/** An IPv4 address, or an IPv6 address in brackets, each with a port. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([\da-f:.]+)\])(?::\d+)?$/i;

/** An address as some proxies write it in X-Forwarded-For, without its port: `203.0.113.7` of `203.0.113.7:40000`. */
export function addressWithoutPort(address: string): string {
  const [, v4, v6] = WITH_PORT.exec(address) ?? [];
  return v4 ?? v6 ?? address;
}

/**
 * The source of a request: its address without a port, or the /56 network of an IPv6 address, as one host may have all of that.
 * @param address undefined: the connection is closed already
 */
export function sourceOf(address = ''): string {
  return ipKeyGenerator(addressWithoutPort(address));
}
