import type { WireRequest } from '../wire-request.ts';

export default {
  name: 'a greeting of TLS',
  bytes: () => Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), Buffer.alloc(512, 7)]),
  expected: 400,
} satisfies WireRequest;
