import { type CorpusRequest, MEMBERS } from '../corpus-request.ts';

/** What looks for the dot looks far. */
export default {
  name: 'a token without a dot',
  build: (limit) => ({
    headers: [`Authorization: Bearer ${'A'.repeat(limit)}`],
    body: Buffer.from(JSON.stringify(MEMBERS)),
  }),
  expected: 401,
} satisfies CorpusRequest;
