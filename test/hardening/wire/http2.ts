import { type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'the preface of HTTP/2',
  bytes: () => wire(['PRI * HTTP/2.0'], 'SM\r\n\r\n'),
  expected: 400,
} satisfies WireRequest;
