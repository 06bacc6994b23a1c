export const MIB = 1024 * 1024;

/** A size in MiB, rounded up: `5 MiB`. */
export function inMib(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}
