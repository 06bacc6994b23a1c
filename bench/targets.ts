import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import express from 'express';
import jwt from 'jsonwebtoken';
import { better, defineQueue, defineWorker } from 'plainjob';
import { BENCH_SECRET } from './notification.ts';

export interface TargetOptions {
  readonly target: 'bare' | 'textbook' | 'plainjob';
  /** of the database; `bare` has none */
  readonly file?: string;
  /** NORMAL: a commit does not wait for the disk, and what was acknowledged may be lost */
  readonly synchronous?: 'FULL' | 'NORMAL';
}

// What ours is compared with.
const { target, file, synchronous }: TargetOptions = JSON.parse(process.argv[2] ?? '{}');
const app = express();
app.post('/webhooks/media', express.json(), { bare, textbook, plainjob }[target]());
const server = app.listen(0, '127.0.0.1', () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());

/** A route of Express alone. */
function bare(): express.RequestHandler {
  return (_req, res) => void res.json({ status: 'accepted' });
}

/** A receiver as most would write it, with the secret as a string and one insert a request on the thread that answers. */
function textbook(): express.RequestHandler {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma(`synchronous = ${synchronous}`);
  db.exec('CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE)');
  const insert = db.prepare('INSERT INTO events (body) VALUES (?) ON CONFLICT DO NOTHING');
  return (req, res) => {
    if (!isDeepStrictEqual(verifiedClaims(req), req.body)) return void res.status(401).end();
    insert.run(JSON.stringify(req.body));
    res.json({ status: 'accepted' });
  };
}

/** What one would build in place of the kit: a receiver that adds a job, and a worker of the queue beside it in the process. */
function plainjob(): express.RequestHandler {
  const db = new Database(file);
  const logger = { ...console, debug() {} }; // by default the worker writes several lines for each job
  const queue = defineQueue({ connection: better(db), logger });
  db.pragma(`synchronous = ${synchronous}`); // defineQueue has set NORMAL
  void defineWorker('notification', () => {}, { queue, logger }).start();
  return (req, res) => {
    verifiedClaims(req);
    queue.add('notification', req.body);
    res.json({ status: 'accepted' });
  };
}

function verifiedClaims(req: express.Request) {
  const token = req.headers.authorization?.replace('Bearer ', '') ?? '';
  return jwt.verify(token, BENCH_SECRET, { algorithms: ['HS256'] });
}
