import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';

/** A message of the Language Server Protocol. */
interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly result?: unknown;
}

/** What an editor shows of a place in a TypeScript file, by the compiler's own language server. */
export async function hoverText(
  tsc: string,
  file: { readonly path: string; readonly text: string },
  position: { readonly line: number; readonly character: number },
): Promise<string> {
  const server = spawn(process.execPath, [tsc, '--lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const send = (message: object) => {
    const content = JSON.stringify({ jsonrpc: '2.0', ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`);
  };
  const uri = pathToFileURL(file.path).href;
  const capabilities = { textDocument: { hover: { contentFormat: ['markdown'] } } };
  send({ id: 1, method: 'initialize', params: { processId: null, rootUri: null, capabilities } });
  try {
    for await (const { id, method, result } of messagesOf(server.stdout)) {
      if (method !== undefined) {
        if (id !== undefined) send({ id, result: null }); // the server asks, too
      } else if (id === 1) {
        const textDocument = { uri, languageId: 'typescript', version: 1, text: file.text };
        send({ method: 'initialized', params: {} });
        send({ method: 'textDocument/didOpen', params: { textDocument } });
        send({ id: 2, method: 'textDocument/hover', params: { textDocument: { uri }, position } });
      } else return JSON.stringify(result);
    }
  } finally {
    server.kill();
  }
  throw new Error('the language server ended without an answer');
}

async function* messagesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Message> {
  let received = Buffer.alloc(0);
  for await (const chunk of stream) {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const [head, length] = /^Content-Length: (\d+)\r\n\r\n/.exec(received.toString('latin1', 0, 100)) ?? [];
      const end = (head?.length ?? 0) + Number(length ?? Number.POSITIVE_INFINITY);
      if (received.length < end) break;
      yield JSON.parse(received.toString('utf8', head?.length, end));
      received = received.subarray(end);
    }
  }
}
