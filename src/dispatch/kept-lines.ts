import { type Logger, levels, symbols } from 'pino';

/** How much of a log is kept, in bytes. */
const MOST_KEPT = 8192;

/**
 * A child of a logger that also keeps the last lines that it and its children write, 8 KB at most.
 * @param known members that each line has, and that need not be kept
 */
export function keepingLines(log: Logger, known: object) {
  const lines: string[] = [];
  const kept = log.child(known);
  const hooks = Reflect.get(log, symbols.hooksSym);
  const streamWrite = (line: string): string => {
    lines.push(line);
    while (lines.length > 1 && Buffer.byteLength(lines.join('')) > MOST_KEPT) lines.shift();
    return hooks.streamWrite?.(line) ?? line;
  };
  Reflect.set(kept, symbols.hooksSym, { ...hooks, streamWrite });
  return {
    log: kept,
    /** The lines as texts: time, level, message, and members as JSON; undefined if there are none. */
    text(): string | undefined {
      const all = kept.bindings();
      const shown = lines.map((line) => textOfLine(line, all)).join('\n');
      return shown === '' ? undefined : Buffer.from(shown).toString('utf8', 0, MOST_KEPT);
    },
  };
}

function textOfLine(line: string, known: object): string {
  const { level, time, msg = '', pid, hostname, ...members } = JSON.parse(line);
  const own = Object.entries(members).filter(([name, value]) => Reflect.get(known, name) !== value);
  const rest = own.length > 0 ? ` ${JSON.stringify(Object.fromEntries(own))}` : '';
  return `${new Date(time).toISOString()} ${levels.labels[level] ?? level} ${msg}${rest}`;
}
