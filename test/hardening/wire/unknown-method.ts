import { type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'a method that nobody knows',
  bytes: () => wire(['BREW /webhooks/media HTTP/1.1', 'Host: receiver']),
  expected: 400,
} satisfies WireRequest;
