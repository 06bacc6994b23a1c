import { connect, type Socket } from 'node:net';
import type { FuzzedRequest } from './request.ts';

/** A request of which nothing comes for so long is given up: it announced more than it sent. */
const SILENCE_MS = 3000;

/** The statuses of all answers in what came over a connection. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, status]) => Number(status))
    .filter((status) => status !== 100);
}

/** Whether one whole answer has come. */
function isWhole(received: string, isHead: boolean): boolean {
  const answer = received.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  const end = answer.indexOf('\r\n\r\n');
  if (end < 0) return false;
  if (isHead || /^transfer-encoding/im.test(answer.slice(0, end))) return true; // what is chunked here is empty
  const length = /^content-length: (\d+)/im.exec(answer.slice(0, end))?.[1];
  return length !== undefined && answer.length >= end + 4 + Number(length);
}

/** One connection after the other to the same server; each is kept as long as it serves. */
export class Exchanger {
  readonly #port: number;
  #socket: Socket | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** How the last request ended: answered, closed or silent, on a new connection or a kept one, and after how long. */
  lastEnd = '';

  /** Whether the connection of the last request was closed without an answer, though the answer before had not said so. */
  get wasCutOff(): boolean {
    return /^closed .* kept/.test(this.lastEnd);
  }

  /** Sends a request and gives back the statuses that come of it; none where the connection is closed without a word. */
  async send({ bytes, isIllFramed }: FuzzedRequest): Promise<number[]> {
    const began = performance.now();
    const which = this.#socket ? 'kept' : 'new';
    const socket =
      this.#socket ?? connect({ port: this.#port, host: '127.0.0.1' }).setEncoding('latin1').setNoDelay();
    this.#socket = undefined;
    const isHead = bytes.subarray(0, 5).equals(Buffer.from('HEAD '));
    const received = await new Promise<string>((resolve) => {
      let text = '';
      const settle = (end: string): void => {
        this.lastEnd = `${end} after ${Math.round(performance.now() - began)} ms on a ${which} connection`;
        clearTimeout(silence);
        socket.removeAllListeners();
        resolve(text);
      };
      const silence = setTimeout(settle, SILENCE_MS, 'silent');
      socket.on('data', (chunk) => {
        text += chunk;
        if (isWhole(text, isHead)) settle('answered');
      });
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => settle(statusesIn(text).length > 0 ? 'answered and closed' : 'closed'));
      socket.write(bytes);
    });
    const keeps = !isIllFramed && isWhole(received, isHead) && !/^connection: close/im.test(received);
    if (keeps) this.#socket = socket;
    else socket.on('error', () => {}).destroy();
    return statusesIn(received);
  }

  close(): void {
    this.#socket?.destroy();
  }
}
