/** Errors outside of handlers. Each code has one meaning and its message says what to do next. */
export type ErrorCode =
  /** The environment has mistakes. */
  | 'CONFIG_INVALID'
  /** The store cannot read or commit now; trying again later may help. */
  | 'STORE_UNAVAILABLE'
  /** The database cannot be used at all by this version or with this key. */
  | 'STORE_UNUSABLE'
  /** The address is taken, or not to be had. */
  | 'LISTEN_FAILED'
  /** The input of a command is not valid. */
  | 'INPUT_INVALID'
  /** The secret of a new webhook could not be stored, so that the webhook was not to stay. */
  | 'SECRET_NOT_STORED'
  /** Neither the provider nor the store knows such a webhook. */
  | 'WEBHOOK_UNKNOWN'
  /** A rotation cannot go on; nothing that is in use was taken away. */
  | 'ROTATION_STOPPED'
  /** The result of a check, a recording or a trial is not as it must be. */
  | 'CHECK_FAILED'
  /** No such event is in the database. */
  | 'EVENT_UNKNOWN'
  /** Some events ended otherwise than expected; the lines before tell which. */
  | 'REPLAY_FAILED'
  /** The module that HANDLERS names cannot be loaded. */
  | 'HANDLERS_UNUSABLE'
  /** The `start` or the `routes` of an app threw an error. */
  | 'APP_FAILED'
  /** The output of a command cannot be written. */
  | 'OUTPUT_FAILED'
  /** Stopped by Ctrl-C or SIGTERM. */
  | 'INTERRUPTED';

/** An error that a user can do something about. */
export class KitError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KitError';
    this.code = code;
  }
}

/** Whether the store cannot read or commit now, so that trying again later may help. */
export function isUnavailable(error: unknown): error is KitError {
  return error instanceof KitError && error.code === 'STORE_UNAVAILABLE';
}

/** The message of an error of our own code or a library; thrown.ts is for errors of handlers. */
export function messageOf(error: unknown): string {
  return Error.isError(error) ? error.message : String(error);
}

/** Why a fetch failed, in the system's words, which fetch puts into the cause of its own error. */
export function whyUnreachable(error: unknown): string {
  const cause: { readonly code?: string } = Error.isError(error) ? Object(error.cause ?? error) : {};
  return messageOf(cause) || (cause.code ?? messageOf(error)); // of several addresses, the cause has a code alone
}
