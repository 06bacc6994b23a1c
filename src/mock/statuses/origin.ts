import type { Request } from 'express';

const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Where the caller reached the mock, as `http://HOST:PORT`: what its Host header says, or what a proxy in front of it
 * says with `X-Forwarded-Host` and `X-Forwarded-Proto`, as real servers do. Clients follow the links made from it.
 * @param fallback used where no usable host was sent
 */
export function originOf(request: Request, fallback: () => string): string {
  const host = lastOf(request.get('x-forwarded-host')) ?? request.get('host') ?? '';
  if (!HOST.test(host)) return fallback().replace(/\/+$/, '');
  const protocol = lastOf(request.get('x-forwarded-proto')) === 'https' ? 'https' : request.protocol;
  return `${protocol}://${host}`;
}

function lastOf(header: string | undefined): string | undefined {
  return header?.split(',').at(-1)?.trim();
}
