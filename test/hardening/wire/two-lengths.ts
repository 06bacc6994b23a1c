import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Which one ends the body? */
export default {
  name: 'two lengths that differ',
  bytes: () => wire([...POST, 'Content-Length: 2', 'Content-Length: 40'], '{}'),
  expected: 400,
} satisfies WireRequest;
