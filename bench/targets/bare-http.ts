import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveBenchmark } from './usage.ts';

// What Node can answer at best: the request is read to its end and looked at no further.
const server = createServer((req, res) => {
  req.resume().on('end', () => {
    res.setHeader('Content-Type', 'application/json').end('{"status":"accepted"}');
  });
}).listen(0, '127.0.0.1', () => serveBenchmark({ port: (server.address() as AddressInfo).port }));
