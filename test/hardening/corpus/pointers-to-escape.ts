import { type CorpusRequest, filled, forged } from '../corpus-request.ts';

/** A path names a member with its tildes and slashes escaped. */
export default {
  name: 'member names of tildes and slashes, in the claims only at first',
  build: (limit) => ({
    headers: [forged(filled(limit, '"a', () => '~/', '":1'))],
    body: Buffer.from(filled(limit, '"b', () => '~/', '":1')),
  }),
  expected: 401,
} satisfies CorpusRequest;
