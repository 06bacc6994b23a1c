import { z } from 'zod';
import type { DraftFile } from './draft-file.ts';

/** The form of a report's lines. */
const VERSION = 1;

/** How one event came out of a replay. */
export interface Outcome {
  readonly id: string;
  readonly kind: string;
  readonly resource: string;
  /** a status, or what a receiver answered */
  readonly outcome: string;
  /** why; undefined where there is nothing to say */
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

/** Writes reports: NDJSON, a line an event. */
export class ReportWriter {
  readonly #file: Pick<DraftFile, 'write'>;
  #waiting = '';

  constructor(file: Pick<DraftFile, 'write'>) {
    this.#file = file;
  }

  async add(outcome: Outcome): Promise<void> {
    this.#waiting += `${JSON.stringify({ v: VERSION, ...outcome })}\n`;
    if (this.#waiting.length > 65_536) await this.flush();
  }

  async flush(): Promise<void> {
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') await this.#file.write(text);
  }
}

/** A line of a report; undefined if it is none. */
export function parseOutcome(text: string): Outcome | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
