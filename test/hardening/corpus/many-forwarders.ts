import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** Each comma is another proxy that is named. */
export default {
  name: 'an X-Forwarded-For of commas',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    return { headers: [forged(text), `X-Forwarded-For: ${','.repeat(limit)}`], body: Buffer.from(text) };
  },
  expected: 401,
} satisfies CorpusRequest;
