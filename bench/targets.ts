import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import express from 'express';
import jwt from 'jsonwebtoken';
import { BENCH_SECRET } from './notification.ts';

export interface TargetOptions {
  /** of the textbook receiver's database; without it, requests are answered and nothing else */
  readonly directory?: string;
  /** NORMAL: a commit does not wait for the disk, and what was acknowledged may be lost */
  readonly synchronous?: 'FULL' | 'NORMAL';
}

// What ours is compared with: a route of Express alone, and a receiver as most would write it, with the secret as a string and one
// insert a request on the thread that answers.
const { directory, synchronous }: TargetOptions = JSON.parse(process.argv[2] ?? '{}');
const app = express();
app.post('/webhooks/media', express.json(), directory ? receiver(directory) : bare);
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());

function bare(_req: express.Request, res: express.Response): void {
  res.json({ status: 'accepted' });
}

function receiver(folder: string): express.RequestHandler {
  const db = new Database(join(folder, 'events.db'));
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${synchronous}`);
  db.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE)');
  const insert = db.prepare('INSERT INTO events (body) VALUES (?) ON CONFLICT DO NOTHING');
  return (req, res) => {
    const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
    const claims = jwt.verify(token, BENCH_SECRET, { algorithms: ['HS256'] });
    if (!isDeepStrictEqual(claims, req.body)) return void res.status(401).end();
    insert.run(JSON.stringify(req.body));
    res.json({ status: 'accepted' });
  };
}
