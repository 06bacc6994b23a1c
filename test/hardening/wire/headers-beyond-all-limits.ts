import { POST, type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'headers beyond all limits',
  bytes: (limit) => wire([...POST, `X-Long: ${'x'.repeat(4 * limit + 100_000)}`]),
  expected: 431,
} satisfies WireRequest;
