import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Nothing here goes by it. */
export default {
  name: 'two hosts',
  bytes: () => wire([...POST, 'Host: other', 'Content-Length: 2'], '{}'),
  expected: 401,
} satisfies WireRequest;
