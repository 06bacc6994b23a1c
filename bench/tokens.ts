import { parseBody } from '../src/notification/json.ts';
import { keyOf, signNotification, verifyNotification } from '../src/notification/token.ts';
import { BENCH_SECRET, notification } from './notification.ts';
import { atMost, number, type Part, table } from './page.ts';
import { median } from './rounds.ts';

const ROUNDS = 15;
const ROUND_MS = 40;
const LARGE = 65_536;
const KEYS = [keyOf(BENCH_SECRET)];

/** How long it takes to verify a token: of a usual body and of one of 64 KiB, genuine and signed by another. */
export async function tokens(): Promise<Part> {
  const usual = notification('tokens', 1).body;
  const large = `${usual.slice(0, -1)},"title":"${'x'.repeat(LARGE - usual.length - 11)}"}`;
  const rows = [usual, large].map((text) => {
    const genuine = microseconds(text, BENCH_SECRET);
    return { bytes: text.length, genuine, forged: microseconds(text, 'another secret') };
  });
  const shares = rows.map(({ genuine, forged }) => forged / genuine);
  return {
    goals: [atMost('a forged token, of the time of a genuine one', 1, Math.max(...shares), 2)],
    text: `## Tokens\n\n${table(
      ['bytes', 'genuine µs', 'forged µs'],
      rows.map(({ bytes, genuine, forged }) => [number(bytes), number(genuine, 1), number(forged, 1)]),
    )}\n\n- \`verifyNotification\` with one live key, once the body is parsed; medians of ${ROUNDS} rounds of ${ROUND_MS} ms.`,
  };
}

/** How long a token takes that a secret has signed. */
function microseconds(text: string, secret: string): number {
  const body = parseBody(Buffer.from(text));
  const token = signNotification(text, keyOf(secret));
  const rounds = Array.from({ length: ROUNDS }, () => {
    const began = performance.now();
    let [verified, took] = [0, 0];
    for (; took < ROUND_MS; took = performance.now() - began) {
      verifyNotification(token, body, KEYS);
      verified++;
    }
    return (took * 1000) / verified;
  });
  return median(rounds);
}
