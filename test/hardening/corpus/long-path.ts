import type { CorpusRequest } from '../corpus-request.ts';

/** Every slash is a place to split at, every percent sign a character to decode. */
export default {
  name: 'a path of slashes and percent signs',
  build: (limit) => ({ path: '/%2F'.repeat(limit / 4), headers: [], body: Buffer.alloc(0) }),
  expected: 404,
} satisfies CorpusRequest;
