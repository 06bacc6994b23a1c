import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveBenchmark } from './usage.ts';

/** As much as the largest notification's token takes. */
const MOST_HEADERS = 131_072;

// What Node can answer at best: the request is read to its end and looked at no further.
const server = createServer({ maxHeaderSize: MOST_HEADERS }, (req, res) => {
  req.resume().on('end', () => {
    res.setHeader('Content-Type', 'application/json').end('{"status":"accepted"}');
  });
}).listen(0, '127.0.0.1', () => serveBenchmark({ port: (server.address() as AddressInfo).port }));
