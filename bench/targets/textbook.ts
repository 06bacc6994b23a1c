import { mkdtempSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import express from 'express';
import jwt from 'jsonwebtoken';
import { BENCH_SECRET } from '../secret.ts';

// What most would write: the secret as a string, one durable insert a request, on the thread that answers.
const directory = mkdtempSync(join(tmpdir(), 'hookkit-bench-'));
const db = new Database(join(directory, 'events.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE)');
const insert = db.prepare('INSERT INTO events (body) VALUES (?) ON CONFLICT DO NOTHING');

const app = express();
app.post('/webhooks/media', express.json(), (req, res) => {
  const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
  const claims = jwt.verify(token, BENCH_SECRET, { algorithms: ['HS256'] });
  if (!isDeepStrictEqual(claims, req.body)) return void res.status(401).end();
  insert.run(JSON.stringify(req.body));
  res.json({ status: 'accepted' });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port, directory });
});
