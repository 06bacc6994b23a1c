import { type CorpusRequest, withForgedToken } from '../corpus-request.ts';

/** Six characters for each one, in the member that is looked for. */
export default {
  name: 'a webhook_id of escapes',
  build: (limit) => withForgedToken(`{"webhook_id":"${'\\u00e9'.repeat((limit - 20) / 6)}"}`),
  expected: 401,
} satisfies CorpusRequest;
