import { POST, type WireRequest, wire } from '../wire-request.ts';

/** A proxy that does not know it may go by the length. */
export default {
  name: 'a transfer encoding that is not quite chunked',
  bytes: () => wire([...POST, 'Transfer-Encoding: xchunked'], '0\r\n\r\n'),
  expected: 400,
} satisfies WireRequest;
