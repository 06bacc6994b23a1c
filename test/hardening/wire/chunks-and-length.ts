import { POST, type WireRequest, wire } from '../wire-request.ts';

/** The other order: a reader may go by the last one. */
export default {
  name: 'chunks and a length at once, as for smuggling',
  bytes: () => wire([...POST, 'Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'),
  expected: 400,
} satisfies WireRequest;
