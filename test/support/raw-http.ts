import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { eventually } from './eventually.ts';

/** A connection on which a test writes every byte itself. */
export type RawConnection = Awaited<ReturnType<typeof rawConnection>>;

export async function rawConnection(port: number) {
  const socket = connect({ port, host: '127.0.0.1' });
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {}); // a reset is one way to be closed; `closed` tells
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  await once(socket, 'connect');
  return {
    write: (text: string | Uint8Array) => void socket.write(text),
    /** Everything that came so far. */
    received: () => received,
    /** Resolves with everything that came, once the other side has closed or reset the connection. */
    closed,
    destroy: () => void socket.destroy(),
  };
}

/** The text of a POST; `Connection: close` unless told otherwise. */
export function postText(path: string, headers: readonly string[], body = '', connection = 'close'): string {
  const lines = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Connection: ${connection}`, ...headers];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** A body in these chunks. */
export function chunked(...chunks: readonly string[]): string {
  return [...chunks, ''].map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`).join('');
}

/** Sends bytes to a server and gives back everything that it answers until it closes the connection. */
export async function exchange(server: Server, request: string | Uint8Array): Promise<string> {
  const connection = await rawConnection((server.address() as AddressInfo).port);
  connection.write(request);
  return connection.closed;
}

/** The same, until the head of the first answer has come: some connections stay open for seconds after that. */
export async function firstAnswer(server: Server, request: string | Uint8Array): Promise<string> {
  const connection = await rawConnection((server.address() as AddressInfo).port);
  connection.write(request);
  await eventually('the head of an answer has come', () => connection.received().includes('\r\n\r\n'));
  connection.destroy();
  return connection.received();
}

/** The status of a raw answer. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
}
