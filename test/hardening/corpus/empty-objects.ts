import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** An object for every three characters. */
export default {
  name: 'a list of very many objects',
  build: (limit) => withForgedToken(filled(limit, '"a":[1', () => ',{}', ']')),
  expected: 401,
} satisfies CorpusRequest;
