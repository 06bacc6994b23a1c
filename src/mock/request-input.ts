import express, { type RequestHandler } from 'express';
import type { z } from 'zod';
import { MockError } from './mock-error.ts';

/**
 * Reads a JSON body of any content type, since clients send none or odd ones. `request.body` is undefined if there is no
 * body. Passes on a MockError 400 if the body is not JSON.
 */
export const jsonBody: readonly RequestHandler[] = [
  express.raw({ type: () => true, limit: '1mb' }),
  (request, _response, next) => {
    const { body } = request;
    request.body = Buffer.isBuffer(body) && body.length > 0 ? jsonOf(body) : undefined;
    next();
  },
];

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new MockError(400, 'the body is not valid JSON', { cause });
  }
}

/**
 * Checks input from outside against a schema.
 * @throws MockError 400 that names each wrong member
 */
export function parse<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new MockError(400, problems.join('; '), { cause: parsed.error });
}
