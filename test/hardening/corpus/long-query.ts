import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** Every ampersand is a parameter. */
export default {
  name: 'a query of parameters',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    return {
      path: `/webhooks/media?${'a[]=1&'.repeat(limit / 6)}`,
      headers: [forged(text)],
      body: Buffer.from(text),
    };
  },
  expected: 401,
} satisfies CorpusRequest;
