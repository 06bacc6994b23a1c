/** The mock cannot do what a verb asks. `message` says what to do; a control route answers with `status`. */
export class MockError extends Error {
  override readonly name = 'MockError';
  readonly status: 400 | 404 | 409;

  constructor(status: 400 | 404 | 409, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The HTTP status of an error of Express or of the mock; 500 for any other error. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
}
