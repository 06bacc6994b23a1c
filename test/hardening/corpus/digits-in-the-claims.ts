import { type CorpusRequest, filled, forged, MEMBERS } from '../corpus-request.ts';

/** The claims are JSON too. */
export default {
  name: 'a numeral of zeros between two ones in the claims',
  build: (limit) => ({
    headers: [forged(filled(limit, '"n":1', () => '0', '1'))],
    body: Buffer.from(JSON.stringify(MEMBERS)),
  }),
  expected: 401,
} satisfies CorpusRequest;
