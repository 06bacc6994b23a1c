import { type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'a path beyond all limits',
  bytes: (limit) => wire([`GET /${'x'.repeat(4 * limit + 100_000)} HTTP/1.1`, 'Host: receiver']),
  expected: 431,
} satisfies WireRequest;
