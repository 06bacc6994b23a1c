import { connect, createServer, type Socket } from 'node:net';
import { listeningOn } from '../mock/support/listening.ts';
import type { DatabaseServer } from './postgres-server.ts';

/** Stands before a PostgreSQL server, and can cut a connection once the server has committed, before the client hears of it. */
export interface LostAnswers {
  /** As `url` of the server, through here. */
  url(database: string): string;
  /**
   * Decides after each transaction, and each statement that is one by itself, whether the answer to its commit is lost.
   * @param sql all that the client has asked in it
   */
  isLost: (sql: string) => boolean;
  /** how many were lost */
  readonly lost: number;
  close(): Promise<void>;
}

/** The types of messages; those of the client first. */
const [QUERY, PARSE, BIND, DONE, READY] = ['Q', 'P', 'B', 'C', 'Z'];
/** The state of a connection on which no transaction is open. */
const IDLE = 'I';
const UNDONE = 'ROLLBACK';

export async function startLosingAnswers(server: DatabaseServer): Promise<LostAnswers> {
  const { hostname, port } = new URL(server.url('any'));
  const sockets = new Set<Socket>();
  const state = { lost: 0 };
  const listener = createServer((client) => {
    const upstream = connect(Number(port || 5432), hostname);
    const cut = () => {
      for (const socket of [client, upstream]) socket.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', cut));
      socket.on('close', cut);
    }
    let sql = '';
    let isCut = false;
    let lastDone = '';
    const prepared = new Map<string, string>();
    // The first message of a client has no type.
    const asked = messages({ hasStart: true }, (type, body) => {
      if (type === QUERY) sql += `${textAt(body, 0)};\n`;
      // First its name, or that of what it is bound to.
      const [one, other] = [textAt(body, 0), textAt(body, body.indexOf(0) + 1)];
      if (type === PARSE) prepared.set(one, other);
      if (type === BIND) sql += `${prepared.get(other)};\n`;
    });
    const answered = messages({ hasStart: false }, (type, body) => {
      if (type === DONE) lastDone = textAt(body, 0);
      if (type !== READY || body.toString() !== IDLE) return;
      isCut ||= sql !== '' && lastDone !== UNDONE && losing.isLost(sql);
      sql = '';
    });
    client.on('data', (data) => {
      asked(data);
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      answered(data);
      if (!isCut) return void client.write(data);
      state.lost++;
      cut();
    });
  });
  const listening = await listeningOn(listener);
  const losing: LostAnswers = {
    url(database) {
      const through = new URL(server.url(database));
      through.host = new URL(listening.url).host;
      return through.href;
    },
    isLost: () => false,
    get lost() {
      return state.lost;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await listening.close();
    },
  };
  return losing;
}

/** The text that begins there, and ends before a NUL. */
function textAt(body: Buffer, start: number): string {
  return body.toString('utf8', start, body.indexOf(0, start));
}

/** Takes a stream apart into messages, each a type, its length and its body. */
function messages(
  { hasStart }: { readonly hasStart: boolean },
  onMessage: (type: string, body: Buffer) => void,
): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let isStart = hasStart;
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = isStart ? 0 : 1;
      if (rest.length < head + 4) return;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return;
      if (!isStart) onMessage(rest.toString('latin1', 0, 1), rest.subarray(head + 4, end));
      isStart = false;
      rest = rest.subarray(end);
    }
  };
}
