import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** As deep as is allowed, again and again. */
export default {
  name: 'lists as deep as is allowed, side by side',
  build: (limit) =>
    withForgedToken(filled(limit, '"a":[1', () => `,${'['.repeat(60)}${']'.repeat(60)}`, ']')),
  expected: 401,
} satisfies CorpusRequest;
