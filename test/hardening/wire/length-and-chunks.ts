import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Two readers that go by one of them each see different requests. */
export default {
  name: 'a length and chunks at once, as for smuggling',
  bytes: () =>
    wire(
      [...POST, 'Content-Length: 4', 'Transfer-Encoding: chunked'],
      '0\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n',
    ),
  expected: 400,
} satisfies WireRequest;
