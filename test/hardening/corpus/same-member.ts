import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** A member that stands there twice, ever so often. */
export default {
  name: 'one member very many times',
  build: (limit) => withForgedToken(filled(limit, '"a":1', () => ',"a":1', '')),
  expected: 401,
} satisfies CorpusRequest;
