import type { Database } from 'better-sqlite3';
import { seqFinder } from './events-table.ts';

interface Step {
  readonly id: string;
  readonly name: string;
}

export function step(db: Database): (step: Step) => { result: string | null } | undefined {
  const seqOf = seqFinder(db);
  const find = db.prepare<[number | undefined, string], { result: string | null }>(
    'SELECT result FROM steps WHERE event = ? AND name = ?',
  );
  return ({ id, name }) => find.get(seqOf(id), name);
}

export function saveStep(db: Database): (step: Step & { result: string | null }) => void {
  const seqOf = seqFinder(db);
  const save = db.prepare('INSERT INTO steps (event, name, result) VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  return ({ id, name, result }) => void save.run(seqOf(id), name, result);
}
