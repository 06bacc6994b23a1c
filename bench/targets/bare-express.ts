import type { AddressInfo } from 'node:net';
import express from 'express';
import { serveBenchmark } from './usage.ts';

const app = express();
app.post('/webhooks/media', express.json(), (_req, res) => {
  res.json({ status: 'accepted' });
});
const server = app.listen(0, '127.0.0.1', () => {
  serveBenchmark({ port: (server.address() as AddressInfo).port });
});
