import { messageOf } from './errors.ts';

const TLS = /CERT|TLS|SSL|SIGNATURE|ISSUER/;

/** Why a fetch failed, in words that say where to look. */
export function whyUnreachable(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return messageOf(error);
  if (TLS.test(code)) return `TLS: ${code}; is the certificate valid, for this name, with its chain?`;
  return WORDS[code] ?? code;
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'ECONNREFUSED: no server listens there',
  ENOTFOUND: 'ENOTFOUND: there is no such host name',
  EAI_AGAIN: 'EAI_AGAIN: the host name cannot be looked up now',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time: a firewall?',
  TimeoutError: 'no answer in time',
};

/** The system's code, which fetch puts into the cause of its own error. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  if ('name' in error && error.name === 'TimeoutError') return error.name;
  return 'cause' in error ? codeOf(error.cause) : undefined;
}
