import type { Request, Response, Router } from 'express';
import type { z } from 'zod';
import { visible } from '../../base/visible.ts';
import { overlooked, withoutEmpty } from './overlooked.ts';

/** One route of the API: the schemas of its requests and answers, and its function. */
export interface Endpoint {
  readonly method: 'get' | 'post';
  /** as in Express, `/events/:id` */
  readonly path: string;
  readonly summary: string;
  /** of query and JSON body together; the body wins */
  readonly input: z.ZodObject;
  readonly answer: z.ZodType;
  /** its refusals by status, other than of a wrong input */
  readonly errors: Readonly<Record<number, string>>;
  readonly run: (input: never) => Promise<unknown>;
}

/** A refusal of an endpoint. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Makes an endpoint, and checks its function against the types of its schemas. */
export function endpoint<I extends z.ZodObject, A extends z.ZodType>(
  given: Omit<Endpoint, 'input' | 'answer' | 'run' | 'errors'> & {
    readonly input: I;
    readonly answer: A;
    readonly errors?: Endpoint['errors'];
    readonly run: (input: z.output<I>) => Promise<z.input<A>>;
  },
): Endpoint {
  return { errors: {}, ...given } as Endpoint;
}

export function mount(router: Router, { method, path, input, run }: Endpoint): void {
  const names = Object.keys(input.shape);
  router[method](path, async (req: Request, res: Response) => {
    const mistake = overlooked(req, { inQuery: names, inBody: names });
    if (mistake !== undefined) return void res.status(400).json({ error: mistake });
    const given = { ...withoutEmpty(req.query), ...withoutEmpty(req.body), ...req.params };
    const parsed = input.safeParse(given);
    if (!parsed.success) return void res.status(400).json({ error: mistakesOf(parsed.error) });
    res.type('json').send(visible(JSON.stringify(await run(parsed.data as never))));
  });
}

export function mistakesOf(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'request'}: ${message}`).join('; ');
}
