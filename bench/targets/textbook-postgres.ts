import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import express from 'express';
import jwt from 'jsonwebtoken';
import pg from 'pg';
import { BENCH_SECRET } from '../secret.ts';
import { serveBenchmark } from './usage.ts';

// What most would write: the secret as a string, and one insert a request through a pool.
const { url }: { readonly url: string } = JSON.parse(process.argv[2] ?? '{}');
const pool = new pg.Pool({ connectionString: url, max: 10 });
await pool.query('CREATE TABLE events (id bigserial PRIMARY KEY, body text NOT NULL UNIQUE)');

const app = express();
app.post('/webhooks/media', express.json(), async (req, res) => {
  const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
  const claims = jwt.verify(token, BENCH_SECRET, { algorithms: ['HS256'] });
  if (!isDeepStrictEqual(claims, req.body)) return void res.status(401).end();
  await pool.query('INSERT INTO events (body) VALUES ($1) ON CONFLICT DO NOTHING', [
    JSON.stringify(req.body),
  ]);
  res.json({ status: 'accepted' });
});
const server = app.listen(0, '127.0.0.1', () => {
  serveBenchmark({ port: (server.address() as AddressInfo).port });
});
