import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** All of it is read before the mistake. */
export default {
  name: 'a body that is no JSON at its very end',
  build: (limit) => withForgedToken(filled(limit, '"a":[1', () => ',"b"', '}')),
  expected: 400,
} satisfies CorpusRequest;
