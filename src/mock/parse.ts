import type { z } from 'zod';
import { MockError } from './mock-error.ts';

/**
 * Parses what comes in from outside.
 * @throws MockError 400 that names each member that is wrong
 */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new MockError(400, problems.join('; '), { cause: parsed.error });
}
