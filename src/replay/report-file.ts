import { z } from 'zod';
import { jsonOf } from '../base/answer-body.ts';
import { writeWholeFile } from './export-recording.ts';

/** The version of a report's form. */
const VERSION = 1;

const lineSchema = z.object({
  v: z.literal(VERSION),
  id: z.string(),
  kind: z.string(),
  resource: z.string(),
  /** a status, or the answer of a receiver */
  outcome: z.string(),
  reason: z.string().optional(),
});

/** How one event ended in a replay. */
export type Outcome = Readonly<Omit<z.infer<typeof lineSchema>, 'v'>>;

/** Takes the outcomes of a replay. */
export type Report = (outcomes: readonly Outcome[]) => Promise<void>;

/**
 * Works with a report file: NDJSON, a line an event. The file appears once the work has ended well; if the work fails, it
 * does not appear.
 * @param path undefined: no report is written
 * @throws KitError OUTPUT_FAILED if the file cannot be written
 */
export async function withReport<T>(
  path: string | undefined,
  work: (report: Report | undefined) => Promise<T>,
): Promise<T> {
  if (path === undefined) return work(undefined);
  const lineOf = (outcome: Outcome) => `${JSON.stringify({ v: VERSION, ...outcome })}\n`;
  return writeWholeFile(path, (write) => work((outcomes) => write(outcomes.map(lineOf).join(''))));
}

/** The outcome of a report's line; undefined if it is no such line. */
export function parseOutcome(text: string): Outcome | undefined {
  return lineSchema.safeParse(jsonOf(text)).data;
}
