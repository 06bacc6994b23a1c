import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Numerals near the largest and the smallest double are the slowest to read. */
export default {
  name: 'very many numerals near the smallest double',
  build: (limit) => withForgedToken(filled(limit, '"n":[1', () => ',2.2250738585072014e-308', ']')),
  expected: 401,
} satisfies CorpusRequest;
