import { POST, type WireRequest, wire } from '../wire-request.ts';

/** It must not wrap around. */
export default {
  name: 'a chunk whose size has too many digits',
  bytes: () => wire([...POST, 'Transfer-Encoding: chunked'], `${'f'.repeat(32)}\r\nx`),
  expected: 400,
} satisfies WireRequest;
