/** The mock cannot do what a verb asks. `message` says what to do; a control route answers with `status`. */
export class MockError extends Error {
  override readonly name = 'MockError';
  readonly status: 400 | 404 | 409;

  constructor(status: 400 | 404 | 409, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** The HTTP status that an error asks for, as those of Express and of the mock do; 500 for any other. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
}
