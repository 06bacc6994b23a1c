import { type CorpusRequest, MEMBERS } from '../corpus-request.ts';

/** A segment for each character. */
export default {
  name: 'a token of dots',
  build: (limit) => ({
    headers: [`Authorization: Bearer ${'.'.repeat(limit)}`],
    body: Buffer.from(JSON.stringify(MEMBERS)),
  }),
  expected: 401,
} satisfies CorpusRequest;
