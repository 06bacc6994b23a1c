import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Some readers take it for a number. */
export default {
  name: 'a length with a sign',
  bytes: () => wire([...POST, 'Content-Length: +2'], '{}'),
  expected: 400,
} satisfies WireRequest;
