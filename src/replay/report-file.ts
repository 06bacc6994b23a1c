import { z } from 'zod';
import type { DraftFile } from '../base/whole-file.ts';
import { portable } from './portable-reason.ts';

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

/** How the reasons of a report are written: as they were recorded, or so that those of two checkouts can be compared. */
export type Reasons = 'exact' | 'portable';

/** Writes reports: NDJSON, a line an event. */
export class ReportWriter {
  readonly #file: Pick<DraftFile, 'write'>;
  readonly #reasons: Reasons;
  #waiting = '';

  constructor(file: Pick<DraftFile, 'write'>, reasons: Reasons) {
    this.#file = file;
    this.#reasons = reasons;
  }

  async add({ reason: given, ...outcome }: Outcome): Promise<void> {
    const reason = given === undefined || this.#reasons === 'exact' ? given : portable(given);
    this.#waiting += `${JSON.stringify({ v: VERSION, ...outcome, reason })}\n`;
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
