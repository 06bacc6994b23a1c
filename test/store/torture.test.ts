import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { size } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { onPostgres, onSqlite, type Stage } from './stages.ts';
import type { Line } from './torture.ts';

/** How many claims of a resource are compared with the ones after them. */
const NEXT = 200;
const SECONDS = size({ small: 1, full: 60 });

/** Several processes on one database. @returns what they saw */
async function tortured({ url }: Stage, processes: number): Promise<Line[]> {
  const folder = await temporaryDirectory();
  const program = new URL('./torture-process.ts', import.meta.url).pathname;
  const children = Array.from({ length: processes }, async (_, seed) => {
    const child = spawn(process.execPath, [program, url, String(SECONDS), String(seed + 1), folder], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([code, said]).toEqual([0, '']);
  });
  await Promise.all(children);
  const logs = readdirSync(folder).filter((name) => name.startsWith('log.'));
  const lines = logs.flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'));
  return lines.map((line): Line => JSON.parse(line));
}

interface Row {
  readonly seq: number;
  readonly id: string;
  readonly event_time: number;
  readonly status: string;
  readonly crashes: number;
  readonly replays: number;
  readonly handled: number;
}

/** First runs of a resource that came in another order than that of event times, although the older event was there before. */
function outOfOrder(lines: readonly Line[], rows: ReadonlyMap<string, Row>): unknown[] {
  const ackedAt = new Map(lines.map(({ acked, at }) => [acked, at ?? 0]));
  const touched = new Set(lines.flatMap(({ replayed, forgot }) => [replayed, forgot]));
  const claims = lines.filter((line) => line.claimed && line.first && !touched.has(line.claimed));
  const ofEach = [...Map.groupBy(claims, ({ resource }) => resource).values()];
  return ofEach.flatMap((list) => {
    const inTurn = list.toSorted((one, other) => (one.askedAt ?? 0) - (other.askedAt ?? 0));
    return inTurn.flatMap((first, index) =>
      inTurn.slice(index + 1, index + NEXT).filter((second) => {
        const [one, other] = [rows.get(first.claimed ?? ''), rows.get(second.claimed ?? '')];
        const isThere = (ackedAt.get(second.claimed) ?? Number.POSITIVE_INFINITY) < (first.askedAt ?? 0);
        const isAfter = (first.claimedAt ?? 0) < (second.askedAt ?? 0);
        const [newer, older] = [one?.event_time ?? 0, other?.event_time ?? 0];
        return (
          isThere && isAfter && (older < newer || (older === newer && (other?.seq ?? 0) < (one?.seq ?? 0)))
        );
      }),
    );
  });
}

for (const [onEngine, processes] of [
  [onSqlite, 3],
  [onPostgres, 4],
] as const)
  onEngine('several processes', (stage) => {
    test('never run two of one resource at once, lose none, and handle none twice but for replays', async () => {
      const lines = await tortured(stage, processes);
      const rows = await stage.sql<Row>(
        `SELECT seq, id, event_time, status, crashes, replays,
           (SELECT count(*) FROM attempts a WHERE a.event = events.seq AND a.outcome = 'handled') AS handled FROM events`,
      );
      const acked = lines.flatMap(({ acked }) => acked ?? []);
      expect(lines.filter(({ overlap }) => overlap)).toEqual([]);
      expect(acked.length).toBeGreaterThan(10);
      expect(new Set(acked).size).toBe(acked.length); // none is new to two
      const byId = new Map(rows.map((row) => [row.id, row]));
      expect(acked.filter((id) => !byId.has(id))).toEqual([]);
      expect(rows.filter(({ status, crashes }) => status !== 'handled' && crashes < 5)).toEqual([]);
      expect(rows.filter(({ handled, replays }) => Number(handled) > 1 + replays)).toEqual([]);
      expect(outOfOrder(lines, byId)).toEqual([]);
      expect(await stage.sql('SELECT * FROM lanes')).toEqual([]);
    });
  });
