import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Half of all readers end a line there. */
export default {
  name: 'a header that ends in a line feed alone',
  bytes: () => wire([...POST, 'X: a\nTransfer-Encoding: chunked'], '0\r\n\r\n'),
  expected: 400,
} satisfies WireRequest;
