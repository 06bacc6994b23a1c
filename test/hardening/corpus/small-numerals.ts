import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Every second character is a number of its own. */
export default {
  name: 'very many numerals of one digit',
  build: (limit) => withForgedToken(filled(limit, '"n":[1', () => ',1', ']')),
  expected: 401,
} satisfies CorpusRequest;
