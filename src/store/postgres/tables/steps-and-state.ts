import type { StepAndStateTables } from '../../driver.ts';
import type { Queries } from '../../driver-store.ts';
import type { StatePlace } from '../../event-search.ts';
import type { StateChange, StateValue } from '../../event-store.ts';
import { columns, decoded, type Session, toText, toTextOrNull } from '../session.ts';

export function stepAndStateTables(session: Session): StepAndStateTables {
  return {
    async steps(asked) {
      const rows = await session.rows<{ isDone: boolean; result: string | null }>(
        `SELECT steps.event IS NOT NULL AS "isDone", steps.result
         FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (event, name, number)
         LEFT JOIN LATERAL (
           SELECT event, result FROM hookkit.steps
           WHERE steps.event = asked.event AND steps.name = asked.name OFFSET 0) AS steps ON true
         ORDER BY number`,
        columns(
          asked,
          ({ event }) => event,
          ({ name }) => toText(name),
        ),
      );
      return rows.map(({ isDone, result }) => (isDone ? decoded({ result }) : undefined));
    },
    async addStep({ event, name, result }) {
      await session.rows(
        'INSERT INTO hookkit.steps (event, name, result) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [event, toText(name), toTextOrNull(result)],
      );
    },
    async removeSteps(events) {
      await session.rows('DELETE FROM hookkit.steps WHERE event = ANY($1)', [events]);
    },
    states: (resources) => statesOf(session, resources),
    async changeState(changed) {
      // The last change of a name is the one that counts, and one statement changes no row twice.
      const last = new Map<string, StatePlace & StateChange>();
      for (const { resource, changes } of changed) {
        for (const change of changes)
          last.set(JSON.stringify([resource, change.name]), { resource, ...change });
      }
      const rows = columns(
        [...last.values()],
        ({ resource }) => toText(resource),
        ({ name }) => toText(name),
        ({ value }) => toTextOrNull(value),
      );
      if (last.size === 0) return;
      await session.rows(
        `WITH change AS MATERIALIZED (
           SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS change (resource, name, value)),
         unset AS (
           DELETE FROM hookkit.state USING (
             SELECT (SELECT state.ctid FROM hookkit.state
               WHERE state.resource = change.resource AND state.name = change.name) AS place
             FROM change WHERE value IS NULL OFFSET 0) AS former
           WHERE state.ctid = former.place)
         INSERT INTO hookkit.state (resource, name, value) SELECT * FROM change WHERE value IS NOT NULL
         ON CONFLICT (resource, name) DO UPDATE SET value = excluded.value`,
        rows,
      );
    },
    async removeState(resource) {
      const names = await session.rows('DELETE FROM hookkit.state WHERE resource = $1 RETURNING name', [
        toText(resource),
      ]);
      return names.length;
    },
  };
}

/** The state of each resource, in the order of names. */
async function statesOf(session: Session, resources: readonly string[]): Promise<StateValue[][]> {
  const rows = await session.rows<StatePlace & StateValue>(
    'SELECT resource, name, value FROM hookkit.state WHERE resource = ANY($1) ORDER BY resource, name',
    [resources.map(toText)],
  );
  const known = Map.groupBy(rows.map(decoded), ({ resource }) => resource);
  return resources.map((one) => (known.get(one) ?? []).map(({ resource: _, ...value }) => value));
}

/** How many names one stretch looks at, of which each has up to 64 KB. */
const STRETCH = 200;

/** The queries of readers about the state of resources. */
export function stateReads(session: Session): Pick<Queries, 'state' | 'states'> {
  return {
    state: async (resource) => (await statesOf(session, [resource]))[0] ?? [],
    async states({ of, name, after = { resource: `${of}:`, name: '' } }) {
      const read = await session.rows<StatePlace & { readonly value: string | null }>(
        `SELECT resource, name, CASE WHEN name = coalesce($1, name) THEN value END AS value FROM hookkit.state
         WHERE (resource, name) > ($2, $3) AND resource < $4 ORDER BY resource, name LIMIT ${STRETCH}`,
        [toTextOrNull(name ?? null), toText(after.resource), toText(after.name), `${of};`], // the character after the colon
      );
      const rows = read.map(decoded);
      const last = rows.length < STRETCH ? undefined : rows.at(-1);
      return {
        values: rows.flatMap(({ value, ...place }) => (value === null ? [] : { ...place, value })),
        next: last && { resource: last.resource, name: last.name },
      };
    },
  };
}
