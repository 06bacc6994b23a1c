import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { defineApp, defineHandlers, type HandlerContext } from '../../../src/index.ts';

// A database of its own: what befalls the one of the events does not befall what is written about it.
const pool = new pg.Pool({ connectionString: process.env.DIARY_URL, max: 20 });
pool.on('error', () => undefined);
const workMs = Number(process.env.WORK_MS ?? 5);

/**
 * Writes down when each run began and ended, by the diary's clock; has one step, and counts the events of its resource. Each subscriber has
 * resources of its own.
 */
export async function note(event: { readonly media_id?: string }, ctx: HandlerContext): Promise<void> {
  const run = randomUUID();
  await pool.query(
    `INSERT INTO runs (run, process, event, resource, started) VALUES ($1, $2, $3, $4, clock_timestamp())`,
    [run, process.pid, ctx.id, [event.media_id, ctx.subscriber].join('@')],
  );
  try {
    await ctx.once('publish', async () => {
      await pool.query('INSERT INTO published (event) VALUES ($1)', [ctx.id]);
    });
    await pool.query('INSERT INTO known_as_published (event) VALUES ($1) ON CONFLICT DO NOTHING', [ctx.id]);
    await new Promise((resolve) => setTimeout(resolve, workMs));
    ctx.state.set('events', Number(ctx.state.get('events') ?? 0) + 1);
  } finally {
    // Also where a step cannot be stored in time, as the database is away.
    await pool.query('UPDATE runs SET ended = clock_timestamp() WHERE run = $1', [run]);
  }
}

/** For one kind, or for two, as in the next version of an app. */
const handlers = defineHandlers({
  media_available: note,
  ...(process.env.KINDS === '2' && { media_updated: note }),
});
const subscribers = process.env.SUBSCRIBERS?.split(',').filter(Boolean) ?? [];

export const app = defineApp({
  handlers,
  subscribers: Object.fromEntries(subscribers.map((name) => [name, { handlers }])),
});
