import { POST, type WireRequest, wire } from '../wire-request.ts';

/** Nobody reads them, and somebody may keep them. */
export default {
  name: 'extensions of a chunk that do not end',
  bytes: (limit) => wire([...POST, 'Transfer-Encoding: chunked'], `2;${'x'.repeat(limit + 20_000)}`),
  expected: 413,
} satisfies WireRequest;
