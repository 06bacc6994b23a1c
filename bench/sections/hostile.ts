import { connect } from 'node:net';
import { corpusRequests } from '../../test/hardening/corpus.ts';
import { bytesOf, type CorpusRequest } from '../../test/hardening/corpus-request.ts';
import { atMost, goalTable, number, table } from '../markdown.ts';
import { interleaved } from '../measure.ts';
import { withScratch } from '../scratch.ts';
import type { Sizes } from '../sizes.ts';
import { Target } from '../target.ts';
import type { Section } from './section.ts';

/** The default of BODY_LIMIT. */
const LIMIT = 65_536;
const CONNECTIONS = 32;
/** What takes so long at first is not sent hundreds of times. */
const FAR_TOO_LONG_MS = 200;
const KINDS = ['unthrottled', 'throttled'] as const;
type Kind = (typeof KINDS)[number];

const NOTES = `- Milliseconds of processor time that the whole process takes a request, all of its threads and the kernel's share
  included, at a BODY_LIMIT of ${LIMIT / 1024} KiB; each shape over ${CONNECTIONS} connections, median of the rounds.
- \`throttled\`: the source has failed over REJECT_LIMIT times before. \`KB\`: what comes over the line, headers included.`;

/** What a request costs that nobody signed, for each shape of the corpus. */
export const hostile: Section = { title: 'Hostile requests', run };

async function run(sizes: Sizes): Promise<string> {
  const corpus = await corpusRequests();
  const byName = new Map(corpus.map((one) => [one.name, one]));
  const results = {} as Record<Kind, Readonly<Record<string, { ms: number }>>>;
  for (const kind of KINDS) {
    results[kind] = await withScratch(async (directory) => {
      const target = await Target.start('ours', {
        database: `${directory}/receiver.db`,
        rejectLimit: kind === 'throttled' ? 1 : 1_000_000,
      });
      try {
        return await interleaved([...byName.keys()], sizes.rounds, async (name) => ({
          ms: await millisecondsOf(target, byName.get(name), sizes.hostile),
        }));
      } finally {
        await target.kill();
      }
    });
  }
  const costOf = (kind: Kind, { name }: CorpusRequest) => results[kind][name]?.ms ?? Number.NaN;
  const rows = corpus
    .toSorted((a, b) => costOf('unthrottled', b) - costOf('unthrottled', a))
    .map((one) => [
      one.name,
      String(one.expected),
      number(bytesOf(one.build(LIMIT)).length / 1000),
      ...KINDS.map((kind) => number(costOf(kind, one), 2)),
    ]);
  const worst = (kind: Kind) => Math.max(...corpus.map((one) => costOf(kind, one)));
  const goals = goalTable([
    atMost('processor time of the worst, unthrottled, ms', worst('unthrottled'), 1),
    atMost('processor time of the worst, throttled, ms', worst('throttled'), 0.3),
  ]);
  return [table(['request', 'answer', 'KB', ...KINDS], rows), NOTES, goals].join('\n\n');
}

async function millisecondsOf(
  target: Target,
  request: CorpusRequest | undefined,
  count: number,
): Promise<number> {
  if (!request) return Number.NaN;
  const bytes = bytesOf(request.build(LIMIT));
  const measure = async (times: number): Promise<number> => {
    const before = await target.usage();
    await sendOften(target.port, bytes, times);
    const after = await target.usage();
    return (after.cpuMicros - before.cpuMicros) / 1000 / times;
  };
  const first = await measure(1);
  if (first > FAR_TOO_LONG_MS) return first;
  await measure(count / 4);
  return measure(count);
}

/** Sends a request so often, over several connections, each of which goes on when it has its answer or was closed. */
async function sendOften(port: number, bytes: Buffer, count: number): Promise<void> {
  let left = count;
  const client = async () => {
    while (left > 0) await sendUntilClosed(port, bytes, () => left-- > 0);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
}

function sendUntilClosed(port: number, bytes: Buffer, isNeeded: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const send = () => (isNeeded() ? socket.write(bytes) : socket.destroy());
    socket.on('connect', send);
    // The answers are far smaller than a packet on loopback, so each arrives whole.
    socket.on('data', (answer) => /^connection: close/im.test(answer.toString('latin1')) || send());
    socket.on('error', () => {}); // a connection that is reset is closed
    socket.on('close', () => resolve());
  });
}
