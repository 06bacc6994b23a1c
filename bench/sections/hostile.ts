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
/** A refusal waits up to 50 ms for new secrets: with fewer, most of what is measured would be the service at rest. */
const CONNECTIONS = 64;
/** Until the code of a shape is compiled as well as it will be. */
const WARM_UP_MS = 1000;
/** The usual request, of which there is most. */
const USUAL_MS = 3000;
const KINDS = ['unthrottled', 'throttled', 'bare'] as const;
type Kind = (typeof KINDS)[number];

const NOTES = `- Milliseconds of processor time that the whole process takes a request, with all of its threads and the kernel's
  share, at a BODY_LIMIT of ${LIMIT / 1024} KiB; each shape over ${CONNECTIONS} connections, median of the rounds. Before that, the service
  is sent the usual request for ${USUAL_MS / 1000} s and each shape for ${WARM_UP_MS / 1000} s. Nothing is subtracted.
- \`throttled\`: the source has failed over REJECT_LIMIT times before. \`KB\`: the bytes on the line, headers included.
- \`bare\`: \`node:http\` that reads the same to its end and answers 200, which is the least possible time.`;

/** What a request costs that nobody signed, for each shape of the corpus. */
export const hostile: Section = { title: 'Hostile requests', run };

async function run(sizes: Sizes): Promise<string> {
  const corpus = await corpusRequests();
  const byName = new Map(corpus.map((one) => [one.name, bytesOf(one.build(LIMIT))]));
  const results = {} as Record<Kind, Readonly<Record<string, { ms: number }>>>;
  for (const kind of KINDS) {
    results[kind] = await withScratch(async (directory) => {
      const target = await startTarget(kind, `${directory}/receiver.db`);
      const warm = new Set<string>();
      const measure = async (name: string) => {
        const bytes = byName.get(name) ?? Buffer.alloc(0);
        if (!warm.has(name)) await millisecondsOf(target, bytes, WARM_UP_MS);
        warm.add(name);
        return { ms: await millisecondsOf(target, bytes, sizes.hostileMs) };
      };
      try {
        for (const [name, bytes] of byName) {
          if (name.includes('usual')) await millisecondsOf(target, bytes, USUAL_MS);
        }
        return await interleaved([...byName.keys()], sizes.rounds, measure);
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
      number((byName.get(one.name)?.length ?? 0) / 1000),
      ...KINDS.map((kind) => number(costOf(kind, one), 2)),
    ]);
  const worst = (kind: Kind) => Math.max(...corpus.map((one) => costOf(kind, one)));
  const goals = goalTable([
    atMost('processor time of the worst, unthrottled, ms', worst('unthrottled'), 1),
    atMost('processor time of the worst, throttled, ms', worst('throttled'), 0.3),
  ]);
  return [table(['request', 'answer', 'KB', ...KINDS], rows), NOTES, goals].join('\n\n');
}

function startTarget(kind: Kind, database: string): Promise<Target> {
  if (kind === 'bare') return Target.start('bare-http');
  return Target.start('ours', { database, rejectLimit: kind === 'throttled' ? 1 : 1_000_000 });
}

/** What a request takes, sent over and over for so long. */
async function millisecondsOf(target: Target, bytes: Buffer, forMs: number): Promise<number> {
  const end = performance.now() + forMs;
  const before = await target.usage();
  const client = async () => {
    let answered = 0;
    while (performance.now() < end) answered += await answersOf(target.port, bytes, end);
    return answered;
  };
  const counts = await Promise.all(Array.from({ length: CONNECTIONS }, client));
  const after = await target.usage();
  const answered = counts.reduce((sum, count) => sum + count, 0);
  return (after.cpuMicros - before.cpuMicros) / 1000 / answered;
}

/** Sends a request again and again over one connection until it is closed or the time is over; gives how many were answered. */
function answersOf(port: number, bytes: Buffer, end: number): Promise<number> {
  return new Promise((resolve) => {
    let answers = 0;
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const send = () => (performance.now() < end ? socket.write(bytes) : socket.destroy());
    socket.on('connect', send);
    // The answers are far smaller than a packet on loopback, so each arrives whole.
    socket.on('data', (answer) => {
      answers++;
      if (!/^connection: close/im.test(answer.toString('latin1'))) send();
    });
    socket.on('error', () => {}); // a connection that is reset is closed
    // What was reset may have lost its answer. It took its time all the same.
    socket.on('close', () => resolve(Math.max(answers, 1)));
  });
}
