import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** Node refuses more than a thousand by itself. */
export default {
  name: 'nearly a thousand headers',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    const count = Math.min(980, Math.floor(limit / 10));
    return { headers: [forged(text), ...Array<string>(count).fill('a: b')], body: Buffer.from(text) };
  },
  expected: 401,
} satisfies CorpusRequest;
