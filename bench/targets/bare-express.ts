import type { AddressInfo } from 'node:net';
import express from 'express';

const app = express();
app.post('/webhooks/media', express.json(), (_req, res) => {
  res.json({ status: 'accepted' });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
