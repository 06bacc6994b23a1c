import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** The header of a token is JSON too. */
export default {
  name: 'a numeral of zeros between two ones in the header of the token',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    const head = '{"alg":"HS256","n":1';
    return {
      headers: [forged(text, `${head}${'0'.repeat(limit - head.length - 2)}1}`)],
      body: Buffer.from(text),
    };
  },
  expected: 401,
} satisfies CorpusRequest;
