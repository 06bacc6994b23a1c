import { type CorpusRequest, MEMBERS, withForgedToken } from '../corpus-request.ts';

/** Nothing about it is strange but the signature. */
export default {
  name: 'a notification of the usual size with a forged signature',
  build: () => withForgedToken(JSON.stringify(MEMBERS)),
  expected: 401,
} satisfies CorpusRequest;
