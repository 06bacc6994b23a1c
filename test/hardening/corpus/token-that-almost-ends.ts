import { type CorpusRequest, MEMBERS, segment } from '../corpus-request.ts';

/** What backtracks tries every place for the dots. */
export default {
  name: 'a token with a character that may not be there at its end',
  build: (limit) => ({
    headers: [
      `Authorization: Bearer ${segment('{"alg":"HS256","typ":"JWT"}')}.${'A'.repeat(limit)}.${'A'.repeat(43)}=`,
    ],
    body: Buffer.from(JSON.stringify(MEMBERS)),
  }),
  expected: 401,
} satisfies CorpusRequest;
