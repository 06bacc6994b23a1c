import { type CorpusRequest, filled, forged } from '../corpus-request.ts';

/** Claims that are the body in another order are compared member by member. */
export default {
  name: 'very many members, and claims that have them in another order',
  build: (limit) => {
    const names = (turn: (n: number) => number) =>
      filled(limit, '"_":1', (n) => `,"${turn(n).toString(36).padStart(4, 'x')}":1`, '');
    return { headers: [forged(names((n) => 40_000 - n))], body: Buffer.from(names((n) => n)) };
  },
  expected: 401,
} satisfies CorpusRequest;
