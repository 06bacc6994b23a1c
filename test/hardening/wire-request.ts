/** What no HTTP client would send: every byte of it is the stranger's. Each file of `wire/` exports one as its default. */
export interface WireRequest {
  /** what it is, for the name of its test */
  readonly name: string;
  /** Builds it as large as a body limit in bytes allows; the same limit gives the same bytes. */
  bytes(limit: number): Buffer;
  /** the status of its first answer */
  readonly expected: number;
}

/** Lines of a head, and what stands behind them. */
export function wire(lines: readonly string[], rest = ''): Buffer {
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${rest}`, 'latin1');
}

export const POST = ['POST /webhooks/media HTTP/1.1', 'Host: receiver', 'Authorization: Bearer x'];
