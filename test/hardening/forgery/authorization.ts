import { gzipSync } from 'node:zlib';
import { type Case, genuine, PATH, post, text, tokenOf } from './forged.ts';

const bearer = `Authorization: Bearer ${genuine}`;
const forged = `Authorization: Bearer ${tokenOf(text, 'made up')}`;

function headers(name: string, lines: readonly string[], status = 401): Case {
  return { name, status, request: post(lines, text) };
}

function raw(name: string, status: number, ...lines: readonly string[]): Case {
  return { name, status, request: Buffer.from(lines.join('\r\n'), 'latin1') };
}

const chunk = `${text.length.toString(16)}\r\n${text}\r\n`;
const start = [`POST ${PATH} HTTP/1.1`, 'Host: receiver', 'Connection: close'];

/** Where the token stands, and how. It is genuine wherever nothing else is said. */
export const authorization: readonly Case[] = [
  headers('no Authorization', []),
  headers('an empty Authorization', ['Authorization:']),
  headers('Bearer and nothing', ['Authorization: Bearer']),
  headers('the token without Bearer', [`Authorization: ${genuine}`]),
  headers('Bearer and token without a space', [`Authorization: Bearer${genuine}`]),
  headers('Bearer, a tab, the token', [`Authorization: Bearer\t${genuine}`]),
  headers('Bearer, a comma, the token', [`Authorization: Bearer, ${genuine}`]),
  headers('Bearer=token', [`Authorization: Bearer=${genuine}`]),
  headers('Bearer twice', [`Authorization: Bearer Bearer ${genuine}`]),
  headers('a space within the token', [`Authorization: Bearer ${genuine.replace('.', ' .')}`]),
  headers('something after the token', [`${bearer} x`]),
  headers('two credentials in one header', [`${bearer}, Bearer ${genuine}`]),
  headers('Basic with the token', [`Authorization: Basic ${Buffer.from(`:${genuine}`).toString('base64')}`]),
  headers('Token in place of Bearer', [`Authorization: Token ${genuine}`]),
  headers('JWT in place of Bearer', [`Authorization: JWT ${genuine}`]),
  headers('two Authorization headers, genuine first', [bearer, forged]),
  headers('two Authorization headers, genuine last', [forged, bearer]),
  headers('two Authorization headers, both genuine', [bearer, bearer]),
  headers('two Authorization headers, one of them empty', ['Authorization:', bearer]),
  headers('the token in Proxy-Authorization', [`Proxy-${bearer}`]),
  headers('the token in X-Authorization', [`X-${bearer}`]),
  headers('the token in X-Forwarded-Authorization', [`X-Forwarded-${bearer}`]),
  headers('the token in a cookie', [`Cookie: token=${genuine}; Authorization=Bearer ${genuine}`]),
  {
    name: 'the token in the query',
    status: 401,
    request: post([], text, `POST ${PATH}?access_token=${genuine}&authorization=Bearer%20${genuine}`),
  },
  headers('a folded header', ['Authorization: Bearer', ` ${genuine}`], 400),
  headers('a space before the colon', [`Authorization : Bearer ${genuine}`], 400),
  raw(
    'the token in a trailer',
    401,
    ...start,
    'Transfer-Encoding: chunked',
    'Trailer: Authorization',
    '',
    `${chunk}0`,
    bearer,
    '',
    '',
  ),
  {
    name: 'a GET that says it is a POST',
    status: 405,
    request: post([bearer, 'X-HTTP-Method-Override: POST'], text, `GET ${PATH}`),
  },
  { name: 'a PUT', status: 405, request: post([bearer], text, `PUT ${PATH}`) },
  raw(
    'a length and chunks',
    400,
    ...start,
    bearer,
    'Content-Length: 4',
    'Transfer-Encoding: chunked',
    '',
    `${chunk}0`,
    '',
    '',
  ),
  raw('two lengths', 400, ...start, bearer, `Content-Length: ${text.length}`, 'Content-Length: 2', '', text),
  raw(
    'chunks under another coding',
    400,
    ...start,
    bearer,
    'Transfer-Encoding: chunked, identity',
    '',
    `${chunk}0`,
    '',
    '',
  ),
  raw(
    'a chunk whose size is a lie',
    400,
    ...start,
    bearer,
    'Transfer-Encoding: chunked',
    '',
    `5\r\n${text}\r\n0`,
    '',
    '',
  ),
  raw('a length that is negative', 400, ...start, bearer, 'Content-Length: -1', '', text),
  raw(
    'header lines without a carriage return',
    400,
    `${start.join('\n')}\n${bearer}\nContent-Length: ${text.length}\n\n${text}`,
  ),
  headers('a compression that nobody knows', [bearer, 'Content-Encoding: rot13'], 400),
  {
    name: 'a compressed body',
    status: 400,
    request: post([bearer, 'Content-Encoding: gzip'], gzipSync(text)),
  },
  headers('a compression that it does not have', [bearer, 'Content-Encoding: gzip'], 400),
  {
    name: 'a bomb',
    status: 400,
    request: post([bearer, 'Content-Encoding: gzip'], gzipSync(Buffer.alloc(20_000_000, 32))),
  },
  { name: 'a body over the limit', status: 413, request: post([bearer], ' '.repeat(70_000) + text) },
];
