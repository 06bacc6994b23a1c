import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** Every header is a name and a value to make. */
export default {
  name: 'as many headers as there is room for',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    return {
      headers: [forged(text), ...Array<string>(Math.floor(limit / 5)).fill('a:')],
      body: Buffer.from(text),
    };
  },
  expected: 431,
} satisfies CorpusRequest;
