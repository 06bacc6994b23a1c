import { gzipSync } from 'node:zlib';
import { type CorpusRequest, forged, MEMBERS } from '../corpus-request.ts';

/** A hundred bytes that become the largest body. */
export default {
  name: 'a compressed body',
  build: (limit) => {
    const text = JSON.stringify(MEMBERS);
    return {
      headers: [forged(text), 'Content-Encoding: gzip'],
      body: gzipSync(Buffer.from(text.padEnd(limit))),
    };
  },
  expected: 400,
} satisfies CorpusRequest;
