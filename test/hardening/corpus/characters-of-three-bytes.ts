import { type CorpusRequest, withForgedToken } from '../corpus-request.ts';

/** Text that is not ASCII is decoded, and takes two bytes a character. */
export default {
  name: 'a text of characters of three bytes',
  build: (limit) => withForgedToken(`{"webhook_id":"hook0001","a":"${'\u20ac'.repeat((limit - 40) / 3)}"}`),
  expected: 401,
} satisfies CorpusRequest;
