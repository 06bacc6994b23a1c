import type { CorpusRequest } from '../corpus-request.ts';

/** A long run of zeros before another digit: what looks for zeros at the end tries each of them as a beginning. */
export default {
  name: 'one numeral of zeros with a one at each end',
  build: (limit) => ({
    headers: ['Authorization: Bearer x'],
    body: Buffer.from(`{"n":1${'0'.repeat(limit - 8)}1}`),
  }),
  expected: 401,
} satisfies CorpusRequest;
