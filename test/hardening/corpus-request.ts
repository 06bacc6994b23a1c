/** A request as a stranger builds it. */
export interface BuiltRequest {
  /** POST unless told otherwise */
  readonly method?: string;
  /** of the webhook unless told otherwise */
  readonly path?: string;
  /** whole lines, `Name: value`, in their order */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/**
 * A hostile request: what each file of `corpus/` exports as its default. It is sent to a receiver whose webhook `hook0001`
 * has a secret that it does not know, and to whose service it must do no harm, at any size.
 */
export interface CorpusRequest {
  /** what it is, for the name of its test */
  readonly name: string;
  /** Builds it as large as a body limit in bytes allows; the same limit gives the same bytes. */
  build(limit: number): BuiltRequest;
  /** the status that it must be answered with */
  readonly expected: number;
}

/** Every byte of a request; Content-Length is added unless a header says how the body ends. */
export function bytesOf({ method = 'POST', path = '/webhooks/media', headers, body }: BuiltRequest): Buffer {
  const isFramed = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const framing = isFramed ? [] : [`Content-Length: ${body.length}`];
  const head = [`${method} ${path} HTTP/1.1`, 'Host: receiver', ...headers, ...framing];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
