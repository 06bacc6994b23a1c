import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import express from 'express';
import jwt from 'jsonwebtoken';
import { BENCH_SECRET } from '../secret.ts';
import { serveBenchmark } from './usage.ts';

export interface TextbookOptions {
  readonly directory: string;
  /** NORMAL: a commit does not wait for the disk, and what was acknowledged may be lost */
  readonly synchronous: 'FULL' | 'NORMAL';
}

// What most would write: the secret as a string, one insert a request, on the thread that answers.
const { directory, synchronous }: TextbookOptions = JSON.parse(process.argv[2] ?? '{}');
const db = new Database(join(directory, 'events.db'));
db.pragma('journal_mode = WAL');
db.pragma(`synchronous = ${synchronous}`);
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
  serveBenchmark({ port: (server.address() as AddressInfo).port });
});
