import { visible, visibleLine } from '../base/visible.ts';

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
}): Promise<((line: string) => string) | undefined> {
  if (stdout.isTTY !== true) return undefined;
  const pretty = await prettierOf(hasColours(stdout));
  if (!pretty) return undefined;
  return (line) => {
    const parts = pretty(harmless(JSON.parse(line))).split(COLOUR);
    return parts.map((part) => (COLOUR.test(part) ? part : visible(part))).join('');
  };
}

async function prettierOf(colorize: boolean): Promise<((line: unknown) => string) | undefined> {
  const module = await import('pino-pretty').catch((error) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  });
  return module?.default.prettyFactory({
    colorize,
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'pid,hostname,instance',
    errorLikeObjectKeys: [...TEXTS],
    customPrettifiers: Object.fromEntries(TEXTS.map((name) => [name, (text) => String(text)])),
  });
}

/** Node knows NO_COLOR and what the terminal can do. */
function hasColours(stdout: object): boolean {
  return 'hasColors' in stdout && typeof stdout.hasColors === 'function' && stdout.hasColors() === true;
}

/**
 * A value of a log line whose texts can be printed: JSON keeps what a terminal would obey, and pino-pretty prints some of it as it is.
 * A text that is not an error's stays within its line.
 */
function harmless(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return TEXTS.includes(name) ? visible(value) : visibleLine(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => harmless(one));
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [visibleLine(key), harmless(one, key)]),
  );
}
