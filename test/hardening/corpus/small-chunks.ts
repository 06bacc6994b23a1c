import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** Each chunk of one byte is handed over by itself, which takes a hundred times what the byte is worth: few may be so small. */
export default {
  name: 'a body in chunks of one byte',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    const chunks = [...text.padEnd(limit / 8)].map((character) => `1\r\n${character}\r\n`);
    return {
      headers: [forged(text), 'Transfer-Encoding: chunked'],
      body: Buffer.from(`${chunks.join('')}0\r\n\r\n`),
    };
  },
  expected: 400,
} satisfies CorpusRequest;
