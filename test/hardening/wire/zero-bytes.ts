import { POST, type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'zero bytes in a header',
  bytes: () => wire([...POST, 'X: a\0b'], '{}'),
  expected: 400,
} satisfies WireRequest;
