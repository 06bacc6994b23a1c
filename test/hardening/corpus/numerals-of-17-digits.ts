import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** The shortest form of a double has up to 17 digits: whether a longer one is exact takes arithmetic. */
export default {
  name: 'very many numerals of 17 digits that a double holds',
  build: (limit) => withForgedToken(filled(limit, '"n":[1', () => ',0.30000000000000004', ']')),
  expected: 401,
} satisfies CorpusRequest;
