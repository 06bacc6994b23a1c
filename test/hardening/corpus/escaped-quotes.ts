import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Every quote may be the end of the text. */
export default {
  name: 'a text of escaped quotes',
  build: (limit) => withForgedToken(filled(limit, '"a":"', () => '\\"', '"')),
  expected: 401,
} satisfies CorpusRequest;
