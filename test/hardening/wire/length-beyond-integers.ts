import { POST, type WireRequest, wire } from '../wire-request.ts';

/** It must not wrap around. */
export default {
  name: 'a length beyond all integers',
  bytes: () => wire([...POST, 'Content-Length: 99999999999999999999999'], '{}'),
  expected: 400,
} satisfies WireRequest;
