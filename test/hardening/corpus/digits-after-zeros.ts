import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** What looks for zeros at the end of a numeral may try each of them as a beginning. */
export default {
  name: 'a numeral of zeros between two ones',
  build: (limit) => withForgedToken(filled(limit, '"n":1', () => '0', '1')),
  expected: 400,
} satisfies CorpusRequest;
