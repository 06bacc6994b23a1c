import { POST, type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'an expectation that nobody knows',
  bytes: () => wire([...POST, 'Expect: the-impossible', 'Content-Length: 2'], '{}'),
  expected: 417,
} satisfies WireRequest;
