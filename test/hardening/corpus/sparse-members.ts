import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Names that look like places in a list, far from each other. */
export default {
  name: 'an object of members that are large whole numbers',
  build: (limit) => withForgedToken(filled(limit, '"_":1', (n) => `,"${4_294_967_294 - n * 99_991}":1`, '')),
  expected: 401,
} satisfies CorpusRequest;
