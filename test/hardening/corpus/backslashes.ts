import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Whether a quote ends a text depends on how many backslashes stand before it. */
export default {
  name: 'a text of backslashes',
  build: (limit) => withForgedToken(filled(limit, '"a":"', () => '\\\\', '"')),
  expected: 401,
} satisfies CorpusRequest;
