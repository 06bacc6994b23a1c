import { type WireRequest, wire } from '../wire-request.ts';

/** Each waits for the one before it. */
export default {
  name: 'hundreds of requests behind each other',
  bytes: (limit) =>
    wire(
      ['GET /nothing HTTP/1.1', 'Host: receiver'],
      'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(Math.min(500, limit / 40)),
    ),
  expected: 404,
} satisfies WireRequest;
