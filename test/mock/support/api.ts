import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { jsonOf } from '../../../src/base/answer-body.ts';

/** An answer, its body parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  readonly json: any;
}

/** Asks the webhooks API or a control route; a body is sent as JSON, a string as it is. */
export async function ask(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = { Authorization: 'mock-api-secret', 'Content-Type': 'application/json' },
): Promise<Answer> {
  // A connection of its own: one that is kept may be closed by the server in the moment in which it is used again.
  const request = http.request(url, { method, headers, agent: false });
  request.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (!response) throw new Error('no answer');
  const content = await text(response);
  const given = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return {
    status: response.statusCode ?? 0,
    headers: new Headers(given),
    text: content,
    json: jsonOf(content),
  };
}
