import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Zeros and exponents that cancel each other out. */
export default {
  name: 'very many numerals with exponents',
  build: (limit) => withForgedToken(filled(limit, '"n":[1', () => ',10e-1', ']')),
  expected: 401,
} satisfies CorpusRequest;
