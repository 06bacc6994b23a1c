import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 description of the API, from the schemas that check its requests. */
export function openApi(endpoints: readonly Endpoint[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const one of endpoints) {
    const path = `/api${one.path.replaceAll(/:(\w+)/g, '{$1}')}`;
    paths[path] = { ...paths[path], [one.method]: operation(one) };
  }
  paths['/api/stream'] = { get: STREAM };
  return {
    openapi: '3.1.0',
    info: {
      title: 'webhook-receiver-kit inspector',
      version: '1',
      description:
        'Times are ISO 8601 in UTC. Where ADMIN_TOKEN is set every route needs it as a Bearer token. ' +
        'A parameter that a route does not know, or that is given twice, is refused with 400.',
    },
    servers: [{ url: '..' }],
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }, {}],
    paths,
  };
}

const STREAM = {
  summary:
    'Server-sent events: `changes` whenever something came in, was handled or refused, by this or another process, once a second at most.',
  responses: {
    200: {
      description: 'data: {"pending": 0, "running": 0, "dead": 0, "quarantined": 0}',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
  },
};

const ANY_ROUTE = {
  400: 'the request has mistakes',
  503: 'the store cannot be reached now; the error says why, and Retry-After when to ask again',
};

function operation({ method, path, summary, input, answer, errors }: Endpoint): Json {
  const { properties = {}, required = [] } = schemaOf(input, 'input');
  const isInPath = (name: string) => path.split('/').includes(`:${name}`);
  const parameters = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: isInPath(name) ? 'path' : 'query',
    required: required.includes(name),
    schema,
  }));
  const inBody = Object.entries(properties).filter(([name]) => !isInPath(name));
  const body = { type: 'object', properties: Object.fromEntries(inBody), additionalProperties: false };
  const refusals = Object.entries({ ...ANY_ROUTE, ...errors }).map(([status, description]) => [
    status,
    { description, content: json(schemaOf(errorAnswer, 'output')) },
  ]);
  return {
    summary,
    parameters: parameters.filter((one) => method === 'get' || one.in === 'path'),
    ...(method === 'post' && { requestBody: { required: false, content: json(body) } }),
    responses: {
      200: { description: 'done', content: json(schemaOf(answer, 'output')) },
      ...Object.fromEntries(refusals),
    },
  };
}

const errorAnswer = z.object({ error: z.string() });

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output') {
  const { $schema, '~standard': _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}
