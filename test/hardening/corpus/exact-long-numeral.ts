import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** A double has up to 767 significant digits; this one has one digit and very many zeros. */
export default {
  name: 'an exact numeral with as many zeros as there is room for',
  build: (limit) => withForgedToken(filled(limit, '"n":1.', () => '0', '')),
  expected: 401,
} satisfies CorpusRequest;
