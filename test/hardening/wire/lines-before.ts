import { type WireRequest, wire } from '../wire-request.ts';

/** They may stand there; very many of them are work for nothing. */
export default {
  name: 'empty lines before a request',
  bytes: (limit) => wire([`${'\r\n'.repeat(limit)}GET /nothing HTTP/1.1`, 'Host: receiver']),
  expected: 404,
} satisfies WireRequest;
