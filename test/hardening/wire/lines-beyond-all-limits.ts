import { POST, type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'header lines beyond all limits',
  bytes: (limit) => wire([...POST, ...Array<string>(limit + 20_000).fill('a:b')]),
  expected: 431,
} satisfies WireRequest;
