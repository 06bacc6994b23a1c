import { z } from 'zod';
import { errorAnswer } from './answer-schemas.ts';
import type { Endpoint } from './endpoint.ts';

type Json = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 description of the API, from the schemas that check its requests. */
export function openApi(endpoints: readonly Endpoint[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const one of [...endpoints]) {
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
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    security: [{ token: [] }, {}],
    paths,
  };
}

const STREAM = {
  summary:
    'Changes of events as server-sent events: `changes`, at most every 250 ms. `more` counts changes that are not listed: of many at once, and one whenever the store looks different, as when ' +
    'another process changed something, within about a second.',
  responses: {
    200: {
      description: 'data: {"changes": [{"id", "change", "kind"}], "more": 0, "rejections": 0}',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
  },
};

const ANY_ROUTE = {
  400: 'the request has mistakes',
  503: 'the store cannot be reached now; the error says why, and Retry-After when to ask again',
};

function operation({ method, path, summary, input, answer, errors }: Endpoint): Json {
  const { properties = {}, required = [] } = schemaOf(input, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const others = Object.entries(properties).filter(([name]) => !inPath.includes(name));
  return {
    summary,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: properties[name] })),
      ...(method === 'get' ? others.map(([name, schema]) => parameter(name, schema, required)) : []),
    ],
    ...(method === 'post' && { requestBody: bodyOf(Object.fromEntries(others)) }),
    responses: {
      200: { description: 'done', content: json(schemaOf(answer, 'output')) },
      ...Object.fromEntries(
        Object.entries({ ...ANY_ROUTE, ...errors }).map(([status, description]) => [
          status,
          { description, content: json(schemaOf(errorAnswer, 'output')) },
        ]),
      ),
    },
  };
}

function parameter(name: string, schema: Json, required: readonly string[]): Json {
  return { name, in: 'query', required: required.includes(name), schema };
}

function bodyOf(properties: Json): Json {
  return { required: false, content: json({ type: 'object', properties, additionalProperties: false }) };
}

function json(schema: Json): Json {
  return { 'application/json': { schema } };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema, '~standard': _, ...rest } = z.toJSONSchema(schema, { io }) as Json;
  return rest;
}
