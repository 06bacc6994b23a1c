import { randomInt } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { plural } from '../../base/text.ts';
import { headlineOf } from '../../base/thrown.ts';
import type { Config } from '../../config.ts';
import type { StartContext } from '../../dispatch/handler.ts';
import { handlersFile, loadApp } from '../../dispatch/load-handlers.ts';
import { refusalOf } from '../../replay/compose.ts';
import * as expectations from '../../replay/expectations.ts';
import { writeWholeFile } from '../../replay/export-recording.ts';
import { toLine } from '../../replay/recording-lines.ts';
import { UNINTERRUPTED } from '../../replay/replay-listener.ts';
import { type Reshaping, reshaped } from '../../replay/reshape.ts';
import { type RecordedEvent, wholeRecording } from '../../replay/sources.ts';
import type { Start } from '../../testing/every-crash.ts';
import type { CheckOptions } from '../../testing/kit-options.ts';
import type { TestReceiver } from '../../testing/test-receiver.ts';
import { routeTimers } from '../../testing/virtual-timers.ts';
import { watchLoop } from '../loop-watch.ts';
import { configOf, probability, wholeNumber } from '../options.ts';
import { line, onStderr, printResult, say } from '../output.ts';
import { loadingOnly } from '../with-handlers.ts';

interface Flags extends Pick<Reshaping, 'shuffle' | 'duplicate' | 'seed'> {
  readonly update?: true;
  readonly out?: string;
  readonly crash?: 'every';
  readonly junit?: string;
  readonly json?: true;
}

export function addCheck(events: Command): void {
  const update = new Option('--update', 'write the ends into the file as expectations, and show the changes');
  const crash = new Option('--crash <where>', 'with a crash at each point, one after the other');
  events
    .command('check')
    .description('Run a recording against your handlers, and compare each end with its expectation.')
    .argument('<file>', 'a recording, as `hookkit events export` writes it, or a file of another tool')
    .addOption(update.conflicts(['shuffle', 'duplicate', 'crash']))
    .option('--out <file>', 'with --update: write into this file instead')
    .option('--junit <file>', 'write the result as JUnit XML, which CI systems show')
    .optionsGroup('Play it once more, and expect the same ends:')
    .option('--shuffle', 'in random order')
    .option('--duplicate <probability>', 'with events that come twice, with this probability', probability)
    .option('--seed <number>', 'the same seed gives the same order and duplicates', wholeNumber())
    .addOption(crash.choices(['every']))
    .action(loadingOnly(check));
}

async function check(file: string, flags: Flags, command: Command): Promise<void> {
  const { update, out = file, junit, json, shuffle, duplicate, crash } = flags;
  const events = await wholeRecording(file, say);
  const expecting = events.filter(({ expect }) => expect);
  const isAgain = shuffle || duplicate || crash;
  if (events.length === 0) throw new KitError('INPUT_INVALID', `${file} has no event`);
  if (expecting.length === 0 && !update && !isAgain)
    throw new KitError('INPUT_INVALID', `no line of ${file} has an expectation: --update writes them`);
  if (update && out === file && !events[0]?.place?.startsWith('line'))
    throw new KitError('INPUT_INVALID', `${file} does not have a line for each event: give --out FILE`);
  const config = configOf(command);
  for (const { body, place } of events) {
    const refusal = refusalOf(Buffer.from(body), config.BODY_LIMIT);
    if (refusal !== undefined)
      throw new KitError('INPUT_INVALID', `${place}: a receiver refuses this with ${refusal}`);
  }
  const options = await receiverFrom(config, events[0]?.receivedAt);
  const ends = await endsOn(options, events);
  const found = expectations.differences(events, ends);
  const unended = found.filter(({ came }) => came.status === expectations.NEVER_ENDED);
  const isCase = ({ expect, place }: RecordedEvent) => expect || unended.some((one) => one.place === place);
  const cases = expectations.casesOf(events.filter(isCase), found);
  if (isAgain && found.length === 0) {
    const again = await casesAgain({ events, ends, options }, flags);
    cases.push(...again);
    say(`the same ends once more: ${again.some(({ failure }) => failure) ? 'no' : 'yes'}`);
  }
  const failed = cases.filter(({ failure }) => failure !== undefined);
  if (junit !== undefined) await writeFile(junit, expectations.junitOf(basename(file), cases));
  const told = failed.map(({ failure }) => `${failure}\n`).join('');
  if (json || told) await printResult(json, { events: events.length, differences: found, failed }, told);
  const byStatus = Map.groupBy(ends.values(), ({ status }) => status);
  const counts = Array.from(byStatus, ([status, { length }]) => `${length} ${status}`);
  say(`${plural(ends.size, 'event')}: ${counts.join(', ')}`);
  const never = `${plural(unended.length, 'handler')} never ended: ${out} is not written`;
  if (update && unended.length > 0) throw new KitError('REPLAY_FAILED', never);
  if (update) {
    const lines = expectations.updated(events, ends).map((event) => `${toLine(event)}\n`);
    await writeWholeFile(out, (write) => write(lines.join('')));
    return say(
      `${out}: ${plural(found.length, 'expectation')} changed, ${events.length - expecting.length} new`,
    );
  }
  if (failed.length > 0)
    throw new KitError('REPLAY_FAILED', `${failed.length} of ${cases.length} ended otherwise than expected`);
}

/** The settings of the project that decide how events end. */
const LIMITS = ['BODY_LIMIT', 'HANDLER_TIMEOUT_MS', 'RETRY_MAX_ATTEMPTS'] as const;

/** A receiver with the handlers of this project, on a clock that begins with the first event. */
async function receiverFrom(config: Config, now: number | undefined): Promise<CheckOptions> {
  say(`handlers of ${line(handlersFile(config))}`);
  routeTimers(); // before they are loaded, as they may keep the globals of that time
  const { handlers, subscribers, schedule, start, settings = {} } = await loadApp(config, say);
  return {
    app: {
      ...watchLoop({ handlers, subscribers, schedule }),
      start: start && ((ctx: StartContext<object>) => start({ ...ctx, settings })),
    },
    now,
    settings: Object.fromEntries(LIMITS.map((name) => [name, String(config[name])])),
    isCheck: true,
  };
}

type Events = readonly RecordedEvent[];

async function playOn(kit: TestReceiver, events: Events): Promise<void> {
  using stage = onStderr.begin('delivered');
  const shown = events.values().map((event, index) => {
    stage.show(index, index / events.length);
    return event;
  });
  await kit.play(shown);
}

async function endsOn(options: CheckOptions, events: Events) {
  // Loaded only here: the other commands for events need no mock provider.
  const { TestReceiver } = await import('../../testing/test-receiver.ts');
  await using kit = await TestReceiver.start(options);
  await playOn(kit, events);
  return await kit.ends(); // before it stops
}

type Played = Readonly<{ events: Events; ends: expectations.Endings; options: CheckOptions }>;

/** Plays a recording in another way, and demands the ends that came when it was played as it is. */
async function casesAgain({ events, ends, options }: Played, flags: Flags): Promise<expectations.Case[]> {
  const { shuffle, crash, duplicate = 0, seed = randomInt(2 ** 31) } = flags;
  if (flags.seed === undefined && (shuffle || duplicate > 0)) say(`--seed ${seed} repeats this`);
  const source = { read: () => Readable.from(events) };
  const reading = { clock: systemClock, signal: UNINTERRUPTED };
  const order = await Array.fromAsync(reshaped(source, { shuffle, duplicate, seed }, reading));
  const differing = (came: expectations.Endings) =>
    expectations.differences(order, came, (event) => {
      const { state, reminders, ...end } = ends.get(event.id) ?? {};
      const atLast = event.isLast && { state };
      if (!shuffle && !crash) return { ...end, ...atLast, ...(event.isLast && { reminders }) };
      // A newer event may be handled first now, so that a handler skips the older one, or tries again.
      const isDead = end.status === 'dead' || came.get(event.id)?.status === 'dead';
      return { ...(isDead && { status: end.status }), ...atLast };
    });
  const found = differing(await endsOn(options, order));
  const again = expectations.casesOf(events, found, ', once more');
  if (found.length > 0 || !crash) return again;
  say('the recording is played once for each point at which the process can die');
  const { playCrashes } = await import('../../testing/every-crash.ts');
  const scenario = async (start: Start) => playOn(await start(options), order);
  const check = async (kit: TestReceiver) => {
    const found = differing(await kit.ends());
    if (found.length > 0) throw new Error(found.map(expectations.told).join('\n'));
  };
  const failure = await playCrashes({ scenario, check, mayDie: true }).then(
    () => undefined,
    ({ message, cause }: Error) => `${headlineOf(message)}\n${messageOf(cause)}`,
  );
  return [...again, { title: 'the same ends around each crash', failure }];
}
