import { type CorpusRequest, withForgedToken } from '../corpus-request.ts';

/** What walks down recursively runs out of stack. */
export default {
  name: 'lists in lists to the end of the body',
  build: (limit) => withForgedToken(`{"a":${'['.repeat(limit / 2 - 4)}${']'.repeat(limit / 2 - 4)}}`),
  expected: 400,
} satisfies CorpusRequest;
