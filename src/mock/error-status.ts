/** The HTTP status that an error asks for, as those of Express and of the mock do; 500 for any other. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 500;
}
