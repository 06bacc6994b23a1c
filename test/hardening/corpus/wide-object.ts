import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Every member is another name to keep and to look up. */
export default {
  name: 'an object of very many members',
  build: (limit) => withForgedToken(filled(limit, '"_":1', (n) => `,"${n.toString(36)}":1`, '')),
  expected: 401,
} satisfies CorpusRequest;
