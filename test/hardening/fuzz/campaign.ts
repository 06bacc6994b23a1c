import fc from 'fast-check';
import { Exchanger } from './exchange.ts';
import { type FuzzedRequest, fuzzedRequest } from './request.ts';

const CONNECTIONS = 64;
/** How many requests are made up at a time. */
const BLOCK = 2000;

export interface CampaignOptions {
  readonly port: number;
  readonly cases: number;
  readonly seed: number;
  /** called after each block, with the number of cases so far */
  readonly onBlock?: (cases: number) => void;
}

/** How often each status was given; `none` where a connection was closed, or waited for more, without an answer. */
export type Tally = Readonly<Record<string, number>>;

/** What is wrong with the answers to a request; undefined where nothing is. */
function fault(
  { isSigned, isGenuine, isProbe }: FuzzedRequest,
  statuses: readonly number[],
): string | undefined {
  if (statuses.some((status) => status >= 500 && status !== 503)) return 'a fault inside';
  if (statuses.some((status) => status < 300) && !isSigned && !isProbe) return 'taken though not signed';
  if (isGenuine && (statuses.length !== 1 || statuses[0] !== 200)) return 'not taken though genuine';
  return undefined;
}

/** Sends that many random requests over connections that are kept as long as they serve. */
export async function campaign({ port, cases, seed, onBlock }: CampaignOptions): Promise<Tally> {
  const tally: Record<string, number> = {};
  for (let done = 0; done < cases; done += BLOCK) {
    const requests = fc.sample(fuzzedRequest, { numRuns: Math.min(BLOCK, cases - done), seed: seed + done });
    const sendAll = async (exchanger: Exchanger): Promise<void> => {
      for (let request = requests.pop(); request; request = requests.pop()) {
        const statuses = await exchanger.send(request);
        for (const status of statuses.length > 0 ? statuses : ['none'])
          tally[status] = (tally[status] ?? 0) + 1;
        const wrong = exchanger.wasCutOff ? 'closed though kept' : fault(request, statuses);
        if (wrong !== undefined) {
          const text = request.bytes.toString('latin1').slice(0, 4000);
          throw new Error(
            `${wrong}, seed ${seed + done}, answered ${statuses} (${exchanger.lastEnd}): ${JSON.stringify(text)}`,
          );
        }
      }
      exchanger.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, () => sendAll(new Exchanger(port))));
    onBlock?.(Math.min(cases, done + BLOCK));
  }
  return tally;
}
