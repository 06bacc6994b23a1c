/** Data goes to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Data for another program: one JSON value. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** What is not data goes to stderr. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Text of others as one line of a terminal: control characters could do anything to it. */
export function line(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
