import { z } from 'zod';
import { jsonOf } from '../base/answer-body.ts';
import { portable } from './portable-reason.ts';
import { type WriteLines, writeWholeFile } from './whole-file.ts';

/** The version of a report's form. */
const VERSION = 1;
/** How much is written at a time, in characters. */
const CHUNK = 65_536;

/** How one event ended in a replay. */
export interface Outcome {
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  /** a status, or the answer of a receiver */
  readonly outcome: string;
  readonly reason?: string | undefined;
}

const lineSchema = z.object({
  v: z.literal(VERSION),
  id: z.string(),
  kind: z.string(),
  resource: z.string(),
  outcome: z.string(),
  reason: z.string().optional(),
});

/** How a report writes reasons: as they were recorded, or so that reports of two checkouts can be compared. */
export type Reasons = 'exact' | 'portable';

/** Takes the outcomes of a replay. */
export interface Report {
  add(outcome: Outcome): Promise<void>;
}

/**
 * Works with a report file: NDJSON, a line an event. The file appears once the work has ended well; if the work fails, it
 * does not appear.
 * @param path undefined: no report is written
 * @throws KitError OUTPUT_FAILED if the file cannot be written
 */
export async function withReport<T>(
  { path, reasons }: { readonly path: string | undefined; readonly reasons: Reasons },
  work: (report: Report | undefined) => Promise<T>,
): Promise<T> {
  if (path === undefined) return work(undefined);
  return writeWholeFile(path, async (write) => {
    const report = new ReportWriter(write, reasons);
    const result = await work(report);
    await report.flush();
    return result;
  });
}

class ReportWriter implements Report {
  readonly #write: WriteLines;
  readonly #reasons: Reasons;
  #waiting = '';

  constructor(write: WriteLines, reasons: Reasons) {
    this.#write = write;
    this.#reasons = reasons;
  }

  async add({ reason: given, ...outcome }: Outcome): Promise<void> {
    const reason = given === undefined || this.#reasons === 'exact' ? given : portable(given);
    this.#waiting += `${JSON.stringify({ v: VERSION, ...outcome, reason })}\n`;
    if (this.#waiting.length > CHUNK) await this.flush();
  }

  async flush(): Promise<void> {
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') await this.#write(text);
  }
}

/** The outcome of a report's line; undefined if it is no such line. */
export function parseOutcome(text: string): Outcome | undefined {
  return lineSchema.safeParse(jsonOf(text)).data;
}
