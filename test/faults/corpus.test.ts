import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { firstStatus, hostileRequests } from '../hardening/hostile.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { eachWithService } from './service.ts';

const stage = eachWithService();
const requests = await hostileRequests();
const LIMITS = [65_536, 1_048_576];
const ROUNDS = 10;
/** How much longer than a refusal of the usual size a request may take, for each byte that it has. */
const MOST_MICROSECONDS_A_BYTE = 0.1;
const MOST_TIMES_PLAIN = 20;
const PLAIN = Buffer.from(
  'POST /webhooks/media HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 2\r\n\r\n{}',
);

/** Processor time that a process has taken, all its threads together, in milliseconds. */
function processorTimeOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return 10 * (Number(fields[11]) + Number(fields[12])); // in hundredths of a second
}

test.each(LIMITS)(
  'every hostile request, built for a BODY_LIMIT of %i, is answered as it says, takes time in proportion to its size, and is not recorded',
  async (limit) => {
    const service = await stage().start({ BODY_LIMIT: String(limit), REJECT_LIMIT: '1000000' });
    const store = await stage().open();
    const port = Number(new URL(service.url).port);
    const costOf = async (bytes: Buffer, times: number): Promise<number> => {
      const before = processorTimeOf(service.child.pid);
      for (let count = 0; count < times; count++) await firstStatus(port, bytes);
      return (processorTimeOf(service.child.pid) - before) / times;
    };
    await costOf(PLAIN, 500); // warms it up
    const plain = await costOf(PLAIN, 500);
    let genuine = 0;
    const wrong: string[] = [];
    for (const { name, bytes, expected } of requests) {
      const sent = bytes(limit);
      const status = await firstStatus(port, sent);
      // Headers that are not read to their end: the reset may overtake the answer.
      const isCutOff = status === 0 && expected === 431;
      if (status !== expected && !isCutOff) wrong.push(`${name}: ${status} and not ${expected}`);
      const cost = await costOf(sent, ROUNDS);
      const most = MOST_TIMES_PLAIN * plain + (sent.length * MOST_MICROSECONDS_A_BYTE) / 1000;
      process.stdout.write(
        `${name}: ${sent.length} bytes, ${status}, ${cost.toFixed(1)} ms of processor time\n`,
      );
      if (cost > most) wrong.push(`${name}: ${cost.toFixed(1)} ms, more than ${most.toFixed(1)}`);
      if ((await deliver(service.url, bodyOf(genuine++))).status !== 200)
        wrong.push(`${name}: genuine refused`);
    }
    expect(wrong).toEqual([]);
    expect(await store.count({})).toBe(genuine);
  },
);
