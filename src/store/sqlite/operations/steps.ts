import type { Database } from 'better-sqlite3';
import type { DoneStep } from '../../event-search.ts';
import { seqFinder } from './events-table.ts';
import { type ClaimKey, heldFinder } from './held.ts';

type Result = Pick<DoneStep, 'result'>;

export function step(db: Database): (step: { id: string; name: string }) => Result | undefined {
  const seqOf = seqFinder(db);
  const find = db.prepare<[number | undefined, string], Result>(
    'SELECT result FROM steps WHERE event = ? AND name = ?',
  );
  return ({ id, name }) => find.get(seqOf(id), name);
}

interface Holding {
  readonly claim: ClaimKey;
  readonly owner: string;
}

export function holds(db: Database): (input: Holding) => boolean {
  const held = heldFinder(db);
  return ({ claim, owner }) => held(claim, owner) !== undefined;
}

/** Stores a result under a lease, unless there is one. @returns the stored result */
export function saveStep(db: Database): (input: Holding & DoneStep) => Result | undefined {
  const held = heldFinder(db);
  const find = step(db);
  const save = db.prepare('INSERT INTO steps (event, name, result) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  return ({ claim, owner, name, result }) => {
    const lease = held(claim, owner);
    if (lease) save.run(lease.seq, name, result);
    return find({ id: claim.id, name });
  };
}
