import { messageOf } from './errors.ts';

/** Why a fetch failed, in the system's words, which fetch puts into the cause of its own error. */
export function whyUnreachable(error: unknown): string {
  const cause: { readonly code?: string } = Error.isError(error) ? Object(error.cause ?? error) : {};
  return messageOf(cause) || (cause.code ?? messageOf(error)); // of several addresses, the cause has a code alone
}
