/** A verb of the mock that cannot be done; `message` says what to do about it, `status` is how a control route answers. */
export class MockError extends Error {
  override readonly name = 'MockError';
  readonly status: 400 | 404 | 409;

  constructor(status: 400 | 404 | 409, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}
