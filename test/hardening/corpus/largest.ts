import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** All that there is room for, in one text: what is kept of it is as long. */
export default {
  name: 'the largest notification with a forged signature',
  build: (limit) => withForgedToken(filled(limit, '"a":"', () => 'x', '"')),
  expected: 401,
} satisfies CorpusRequest;
