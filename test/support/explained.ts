import { Database, type DatabaseOptions, type Purpose } from '../../src/store/postgres/database.ts';
import type { Session } from '../../src/store/postgres/session.ts';

/** Told how many rows a step of a plan went through. */
type OnRead = (rows: number, step: string) => void;

/** A database of which each statement of a transaction is explained: see `explained`. */
export class ExplainedDatabase extends Database {
  readonly #onRead: OnRead;

  constructor(options: DatabaseOptions, onRead: OnRead) {
    super(options);
    this.#onRead = onRead;
  }

  override readonly frequent: Session = {
    rows: (sql, params) => this.transaction((session) => session.rows(sql, params), { isFrequent: true }),
    script: (sql) => this.statements.script(sql),
  };

  override transaction<T>(work: (session: Session) => Promise<T>, purpose: Purpose = {}): Promise<T> {
    const { isFrequent, isByKeys = isFrequent } = purpose;
    // As where connections are shared: each statement is planned by what the server believes of the tables then.
    const shared = { ...purpose, isByKeys, isFrequent: false };
    return super.transaction((session) => work(explained(session, this.#onRead)), shared);
  }
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/**
 * Executes each statement as the session does, one after the other, and tells how many rows each step of its plan went through.
 * What writes is explained and undone first, so its session must be a transaction.
 */
export function explained(session: Session, onRead: OnRead): Session {
  let before: Promise<unknown> = Promise.resolve();
  const explain = async (sql: string, params?: readonly unknown[]) => {
    const [plan] = await session.rows<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
      params,
    );
    for (const { Plan } of plan?.['QUERY PLAN'] ?? []) tell(Plan, onRead);
  };
  const undone = async (work: () => Promise<void>) => {
    await session.script('SAVEPOINT explained');
    await work();
    await session.script('ROLLBACK TO SAVEPOINT explained');
  };
  return {
    ...session,
    rows<R>(sql: string, params?: readonly unknown[]) {
      const executed = before.then(async () => {
        if (/\b(INSERT INTO|UPDATE hookkit|DELETE FROM)\b/.test(sql))
          await undone(() => explain(sql, params));
        else await explain(sql, params);
        return session.rows<R>(sql, params);
      });
      before = executed;
      return executed;
    },
  };
}

function tell(node: PlanNode, onRead: OnRead): void {
  const removed =
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0) +
    (node['Rows Removed by Join Filter'] ?? 0);
  const rows = (node['Actual Rows'] + removed) * node['Actual Loops'];
  onRead(rows, `${node['Node Type']} ${node['Relation Name'] ?? ''}`);
  for (const below of node.Plans ?? []) tell(below, onRead);
}
