import { POST, type WireRequest, wire } from '../wire-request.ts';

export default {
  name: 'a request to change the protocol',
  bytes: () => wire([...POST, 'Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 2'], '{}'),
  expected: 401,
} satisfies WireRequest;
