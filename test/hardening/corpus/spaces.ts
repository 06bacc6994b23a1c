import { type CorpusRequest, withForgedToken } from '../corpus-request.ts';

/** Nothing but the spaces that JSON allows. */
export default {
  name: 'an object with spaces to the end of the body',
  build: (limit) => withForgedToken(`{${' \n'.repeat(limit / 2 - 1)}}`),
  expected: 401,
} satisfies CorpusRequest;
