import { visible, visibleLine } from '../base/text.ts';

/** Texts of several lines: those of errors. */
const TEXTS: readonly string[] = ['error', 'reason'];
/** A colour of pino-pretty; nothing else that a terminal obeys gets through. */
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[\\d{1,2}m)`);

/**
 * Makes a line of the log one for people, if the log goes to a terminal and pino-pretty is installed; undefined otherwise. It
 * does so at once and without a stream of its own, so that no line is lost at the end of the process.
 */
export async function prettyLog(stdout: {
  readonly isTTY?: boolean;
  hasColors?(): boolean;
}): Promise<((line: string) => string) | undefined> {
  if (stdout.isTTY !== true) return undefined;
  const module = await import('pino-pretty').catch((error) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  });
  const pretty = module?.default.prettyFactory({
    colorize: stdout.hasColors?.() === true, // Node knows NO_COLOR and what the terminal can do
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,instance,request',
    errorLikeObjectKeys: [...TEXTS],
    customPrettifiers: Object.fromEntries(TEXTS.map((name) => [name, (text) => String(text)])),
  });
  // JSON keeps what a terminal would obey, and pino-pretty prints some texts as they are.
  const harmless = (name: string, value: unknown) => {
    if (typeof value !== 'string') return value;
    return TEXTS.includes(name) ? visible(value) : visibleLine(value);
  };
  return (
    pretty &&
    ((line) => {
      const parts = pretty(JSON.parse(line, harmless)).split(COLOUR);
      return parts.map((part) => (COLOUR.test(part) ? part : visible(part))).join('');
    })
  );
}
