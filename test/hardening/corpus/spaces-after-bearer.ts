import { type CorpusRequest, MEMBERS } from '../corpus-request.ts';

/** What backtracks tries every space as the last one. */
export default {
  name: 'an Authorization of spaces',
  build: (limit) => ({
    headers: [`Authorization: Bearer${' '.repeat(limit)}x y`],
    body: Buffer.from(JSON.stringify(MEMBERS)),
  }),
  expected: 401,
} satisfies CorpusRequest;
