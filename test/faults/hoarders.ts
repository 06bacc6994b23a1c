import { connect, type Socket } from 'node:net';
import { tokenOf } from '../support/hs256.ts';

// Clients that make a service hold as much of theirs as it will, each over connections that say nothing else.

export interface Hoard {
  readonly connections: number;
  /** what each of them sends at once */
  readonly start: Buffer;
  /** what each of them sends ten times a second from then on */
  readonly drip?: Buffer;
  /** whether each of them takes no answers */
  readonly isDeaf?: boolean;
}

/** As a notification is, so that nothing but its signature speaks against it, with a body of that many bytes. */
function large(bytes: number): { head: string; body: string } {
  const empty = JSON.stringify({ event: 'media_available', webhook_id: 'hook0001', padding: '' });
  const body = empty.replace('""}', `"${'x'.repeat(bytes - empty.length)}"}`);
  return {
    head: `POST /webhooks/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tokenOf(body, 'forged')}\r\n`,
    body,
  };
}

const text = (...parts: readonly string[]) => Buffer.from(parts.join(''), 'latin1');

/** Every way to hoard, by its name, for a service that takes bodies of `limit` bytes; `share` of the usual number of connections. */
export function hoards(limit: number, connections: number): Readonly<Record<string, Hoard>> {
  const { head, body } = large(limit);
  const sized = `${head}Content-Length: ${body.length}\r\n\r\n`;
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
  const headers = Math.floor((limit * 4) / 3);
  const tiny = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
  const beginning = 'POST /webhooks/media HTTP/1.1\r\nHost: x\r\n';
  return {
    'whole requests behind each other': {
      connections: Math.ceil(connections / 100),
      start: text(...Array<string>(limit > 1_000_000 ? 3 : 100).fill(sized + body)),
    },
    'requests without their last byte': { connections, start: text(sized, body.slice(0, -1)) },
    'bodies that come a byte at a time': {
      connections,
      start: text(sized, body.slice(0, body.length / 2)),
      drip: text('x'),
    },
    'bodies in chunks of one byte': {
      connections: Math.ceil(connections / 10), // each takes a millisecond, and comes again
      start: text(chunked, '1\r\nx\r\n'.repeat(Math.min(body.length - 1, 65_535))),
      drip: text('1\r\nx\r\n'),
    },
    'headers that do not end': {
      connections,
      start: text(beginning, 'X-Long: ', 'x'.repeat(headers)),
      drip: text('x'),
    },
    'headers of many lines that do not end': {
      connections,
      start: text(beginning, 'a: b\r\n'.repeat(Math.min(headers / 6, 1900))),
      drip: text('a'),
    },
    'a whole request and the headers of the next': {
      connections,
      start: text(sized, body, beginning, 'X-Long: ', 'x'.repeat(headers)),
    },
    'small requests behind each other, whose answers nobody takes': {
      connections: Math.ceil(connections / 2),
      start: text(tiny.repeat(5000)),
      isDeaf: true,
    },
    'questions for health behind each other, whose answers nobody takes': {
      connections: Math.ceil(connections / 2),
      start: text('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5000)),
      isDeaf: true,
    },
    'questions for readiness behind each other, whose answers nobody takes': {
      connections: Math.ceil(connections / 4),
      start: text('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5000)),
      isDeaf: true,
    },
    'a whole request, and small ones behind it': {
      connections: Math.ceil(connections / 2),
      start: text(sized, body, tiny.repeat(5000)),
    },
  };
}

/** Sends all of a hoard, and again over a new connection where one is closed. The function returned ends it. */
export function hoard(port: number, { connections, start, drip, isDeaf }: Hoard): () => void {
  const sockets = new Set<Socket>();
  let isOver = false;
  const open = (): void => {
    if (isOver) return;
    const socket = connect({ port, host: '127.0.0.1' });
    sockets.add(socket);
    socket.on('error', () => {}); // being closed is what it risks
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(open, 1000);
    });
    if (isDeaf) socket.pause();
    else socket.resume();
    socket.write(start);
  };
  for (let count = 0; count < connections; count++) open();
  const dripping =
    drip &&
    setInterval(() => {
      for (const socket of sockets) if (socket.writableLength === 0) socket.write(drip);
    }, 100);
  return () => {
    isOver = true;
    clearInterval(dripping);
    for (const socket of sockets) socket.destroy();
  };
}
