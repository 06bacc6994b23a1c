import type { Session } from '../../src/store/postgres/session.ts';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Executes each statement as the session does, and tells how many rows a step of its plan read at most. */
export function explained(session: Session, onRead: (rows: number, step: string) => void): Session {
  return {
    ...session,
    async rows<R>(sql: string, params?: readonly unknown[]) {
      const [plan] = await session.rows<{ 'QUERY PLAN': readonly { readonly Plan: PlanNode }[] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`,
        params,
      );
      for (const { Plan } of plan?.['QUERY PLAN'] ?? []) tell(Plan, onRead);
      return session.rows<R>(sql, params);
    },
  };
}

function tell(node: PlanNode, onRead: (rows: number, step: string) => void): void {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const rows = (node['Actual Rows'] + removed) * node['Actual Loops'];
  onRead(rows, `${node['Node Type']} ${node['Relation Name'] ?? ''}`);
  for (const below of node.Plans ?? []) tell(below, onRead);
}
