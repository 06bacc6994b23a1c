import express, { type RequestHandler, type Router } from 'express';
import type { z } from 'zod';

/** The mock cannot do what a verb asks. `message` says what to do; a control route answers with `status`. */
export class MockError extends Error {
  override readonly name = 'MockError';
  readonly status: 400 | 404 | 409;

  constructor(status: 400 | 404 | 409, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The HTTP status of an error of Express or of the mock; 500 for any other error. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
type Act = (given: { id: string; part: string; body: unknown; query: unknown }) => unknown;

/**
 * Adds routes to a router. Each answers what its act gives as JSON, under a status. `id` and `part` are those of the path.
 * The body may be of any content type, since clients send none or odd ones, and is undefined if there is none.
 */
export function jsonRoutes(router: Router) {
  return (method: Method, path: string, status: number, act: Act): void => {
    const reads = method === 'get' || method === 'delete' ? [] : jsonBody;
    router[method](path, ...reads, async ({ params, body, query }, response) => {
      const id = String(params.id);
      const part = String(params.part);
      response.status(status).json(await act({ id, part, body: body ?? undefined, query }));
    });
  };
}

/** Passes on a MockError 400 if the body is not JSON. */
const jsonBody: RequestHandler[] = [
  express.raw({ type: () => true, limit: '1mb' }),
  (request, _response, next) => {
    const { body } = request;
    request.body = Buffer.isBuffer(body) && body.length > 0 ? jsonOf(body) : undefined;
    next();
  },
];

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
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
