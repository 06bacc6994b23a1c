import { POST, type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'a chunk without a size',
  bytes: () => wire([...POST, 'Transfer-Encoding: chunked'], '\r\n\r\n'),
  expected: 400,
} satisfies WireRequest;
