import { ipKeyGenerator } from 'express-rate-limit';

/**
 * The source of a request: its address, or the network of an IPv6 address, as one host has all of that.
 * @param address undefined: the connection is closed already
 */
export function sourceOf(address = ''): string {
  return ipKeyGenerator(address);
}
