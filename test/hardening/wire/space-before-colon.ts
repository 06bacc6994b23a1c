import { POST, type WireRequest, wire } from '../wire-request.ts';

/** A proxy may drop or keep such a header. */
export default {
  name: 'a space before a colon',
  bytes: () => wire([...POST, 'Transfer-Encoding : chunked'], '0\r\n\r\n'),
  expected: 400,
} satisfies WireRequest;
