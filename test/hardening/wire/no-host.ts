import { type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'no host',
  bytes: () => wire(['GET /healthz HTTP/1.1']),
  expected: 400,
} satisfies WireRequest;
