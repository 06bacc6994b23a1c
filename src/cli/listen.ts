import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { jsonOf } from '../base/answer-body.ts';
import { MOMENTS } from '../base/duration.ts';
import { KitError } from '../base/errors.ts';
import { writeWholeFile } from '../replay/export-recording.ts';
import { CURSOR, parseLine } from '../replay/recording-lines.ts';
import { iso } from '../store/queue/lists/event-json.ts';
import { toVerified } from '../store/stored.ts';
import { signingKeys } from './events/send.ts';
import { readInput, readSecret } from './input.ts';
import { interruptible } from './interruptible.ts';
import { adminUrl, configOf, kinds, moment, receiverUrl, wholeNumber } from './options.ts';
import { line, say, writeOn } from './output.ts';

/** The filters that the other receiver applies. */
const FILTERS = ['site', 'resource', 'webhook', 'q'] as const;

type Texts = 'kind' | (typeof FILTERS)[number] | 'tokenFile' | 'secretFile' | 'after' | 'cursorFile';
type Flags = Partial<Record<Texts, string> & Record<'since' | 'limit', number>> & {
  from: URL;
  to?: URL;
  json?: true;
};

export function addListen(program: Command): void {
  const command = program
    .command('listen')
    .description('Show what a receiver elsewhere receives, or send it on to another one, as it comes.')
    .requiredOption('--from <url>', 'the admin listener of that receiver', adminUrl)
    .option('--token-file <file>', 'its ADMIN_READ_TOKEN or ADMIN_TOKEN (-: stdin)')
    .option('--to <url>', 'send each event there, in order, until the receiver takes it', receiverUrl)
    .option('--secret-file <file>', 'sign with this secret (-: stdin) instead of that of the webhook')
    .option('--cursor-file <file>', 'begin where this file says, if it exists, and keep it up to date')
    .option('--since <time>', `begin with events received since ${MOMENTS}`, moment)
    .addOption(
      new Option('--after <cursor>', 'begin after this cursor; start: with the first').conflicts('since'),
    )
    .option('--limit <number>', 'end after this many events', wholeNumber(1));
  const described = 'a filter as in hookkit events list';
  command.option('--kind <text>', described, (text) => kinds(text) && text);
  for (const name of FILTERS) command.option(`--${name} <text>`, described);
  command.action(listen);
}

async function listen(flags: Flags, command: Command): Promise<void> {
  const { deliver, pagesOf } = await import('../replay/listen.ts');
  const { from, tokenFile, to, secretFile, since, after, limit, cursorFile, json, ...filters } = flags;
  const token = tokenFile === undefined ? undefined : await readSecret(tokenFile);
  const keys = to && (await signingKeys(configOf(command), secretFile));
  const known = cursorFile === undefined ? undefined : await readCursor(cursorFile);
  let cursor: string | undefined;
  const start = known ?? after ?? (since === undefined ? 'now' : iso(since));
  const reach = async (next: string) => {
    if (cursorFile !== undefined && next !== (cursor ?? known))
      await writeWholeFile(cursorFile, (write) => write(`${JSON.stringify({ cursor: next })}\n`));
    cursor = next;
  };
  let count = 0;
  const hear = async (signal: AbortSignal) => {
    for await (const page of pagesOf({ from, token, after: start, filters, signal, say })) {
      for (const text of page.lines) {
        const { recorded, described, place } = heard(text);
        const sent = to && keys && (await deliver(recorded, { to, keys, signal, say }));
        if (to && !sent) return;
        const ending = sent ? `  ${sent.word}  ${sent.ms} ms` : '';
        await writeOn(json ? `${text}\n` : `${described}${ending}\n`);
        await reach(place);
        count++;
        if (count === limit || signal.aborted) return;
      }
      await reach(page.cursor);
    }
  };
  try {
    await interruptible('', hear);
  } finally {
    if (cursor !== undefined) say(`ended at ${cursor}: --after ${cursor} goes on there`);
  }
}

/** A line of a page, for people, and its cursor. @throws KitError REPLAY_FAILED if it is no recording with a cursor */
function heard(text: string) {
  const read = parseLine(text);
  const place = read.problem === undefined ? read.recorded.others?.cursor : undefined;
  if (read.problem !== undefined || typeof place !== 'string' || !CURSOR.test(place))
    throw new KitError('REPLAY_FAILED', 'the answer is not a recording with a cursor: correct --from');
  const { recorded, value } = read;
  const { kind, resource } = toVerified(value, recorded.body);
  return { recorded, place, described: `${iso(recorded.receivedAt)}  ${line(kind)}  ${line(resource)}` };
}

/** Undefined if the file is not there yet. @throws KitError INPUT_INVALID if it is another file */
async function readCursor(file: string): Promise<string | undefined> {
  if (!existsSync(file)) return undefined;
  const { cursor } = Object(jsonOf(`${await readInput(file, file)}`));
  if (typeof cursor === 'string') return cursor;
  throw new KitError('INPUT_INVALID', `${file} has no cursor: name another file`);
}
