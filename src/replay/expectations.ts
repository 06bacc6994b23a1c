import { z } from 'zod';

/** How an event can end. */
export const ENDS = ['handled', 'skipped', 'dead'] as const;

/** The end that a line of a recording expects of its event. What is not given may be anything. */
export const expectSchema = z.strictObject({
  status: z.enum(ENDS).optional(),
  attempts: z.int().min(0).optional(),
  reason: z.string().transform(firstLine).optional(),
  state: z.record(z.string(), z.unknown()).optional(),
});

export type Expect = Readonly<z.infer<typeof expectSchema>>;

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
