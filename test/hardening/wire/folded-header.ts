import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Obsolete, and read in two ways. */
export default {
  name: 'a header folded over lines',
  bytes: () => wire([...POST, 'X-Folded: a', ' Content-Length: 5'], '{}'),
  expected: 400,
} satisfies WireRequest;
