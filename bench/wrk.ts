import { execFile, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileAt } from './children.ts';
import type { LoadOptions, LoadResult } from './load.ts';
import { withScratch } from './scratch.ts';

/** Whether this machine has wrk, which takes a fifth of the processor time of a load generator in Node: `apt install wrk`. */
export const hasWrk = spawnSync('wrk', ['-v']).error === undefined;

/** A disk that stalls is no refusal: a server that waits for it for each request may take seconds for one. */
const TIMEOUT_SECONDS = 30;

/** What `done` of requests.lua prints. */
interface Printed extends Pick<LoadResult, 'requests' | 'refused' | 'p50' | 'p99' | 'p999'> {
  readonly seconds: number;
  /** requests sent although all had been sent before */
  readonly repeated: number;
}

/** Sends requests by wrk, on one thread, for as long as the options say. */
export function loadByWrk(all: readonly Buffer[], options: LoadOptions): Promise<LoadResult> {
  const { port, connections, seconds } = options;
  return withScratch(async (directory) => {
    const requests = join(directory, 'requests');
    const file = openSync(requests, 'w');
    for (const one of all) writeSync(file, Buffer.concat([Buffer.from(`${one.length}\n`), one]));
    closeSync(file);
    const limits = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', `${TIMEOUT_SECONDS}s`];
    const args = [...limits, '-s', fileAt('./requests.lua')];
    const env = { ...process.env, REQUESTS: requests };
    const { stdout } = await promisify(execFile)('wrk', [...args, `http://127.0.0.1:${port}`], { env });
    const printed: Printed = JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? '{}');
    const { repeated, seconds: took, ...rest } = printed;
    if (repeated > 0 && !options.mayRepeat)
      throw new Error(`${all.length} requests were too few for ${seconds} s`);
    return { ...rest, perSecond: rest.requests / took, cpu: secondsOfChildren() / took };
  });
}

/** Fields 16 and 17 of proc_pid_stat(5), of processes that have ended; a clock tick is 10 ms on every Linux. */
function secondsOfChildren(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return Number.NaN; // not Linux
  }
}
