import { type CorpusRequest, filled, withForgedToken } from '../corpus-request.ts';

/** Members of these names are not to become what every object inherits. */
export default {
  name: 'members named as what objects inherit',
  build: (limit) =>
    withForgedToken(filled(limit, '"__proto__":{"isAdmin":true},"constructor":[0', () => ',0', ']')),
  expected: 401,
} satisfies CorpusRequest;
