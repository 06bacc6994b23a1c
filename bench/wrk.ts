import { execFile } from 'node:child_process';
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { notification } from './notification.ts';
import { directory, fileAt } from './stage.ts';

interface Load {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** the notifications of a series are the same for all targets, so that they are signed once */
  readonly series: string;
  /** to a server that records nothing, requests may go again once all were sent */
  readonly mayRepeat?: boolean;
}

export interface Loaded {
  readonly perSecond: number;
  /** milliseconds */
  readonly p50: number;
  readonly p99: number;
}

/** What `done` of requests.lua prints. */
interface Printed {
  readonly requests: number;
  readonly seconds: number;
  readonly refused: number;
  readonly repeated: number;
  readonly p50: number;
  readonly p99: number;
}

/** More than a server that records answers in a second here, over one connection and over many. */
const MOST_OVER_ONE = 8000;
const MOST_OVER_MANY = 15_000;
/** A disk that stalls is no refusal. */
const TIMEOUT = '30s';

/** Sends distinct, genuine notifications by wrk, on one thread. @throws Error if one of them is refused */
export async function load({ port, connections, seconds, series, mayRepeat }: Load): Promise<Loaded> {
  const count = (connections === 1 ? MOST_OVER_ONE : MOST_OVER_MANY) * seconds;
  const limits = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', TIMEOUT];
  const args = [...limits, '-s', fileAt('./requests.lua'), `http://127.0.0.1:${port}`];
  const env = { ...process.env, REQUESTS: requestsOf(series, count) };
  const { stdout } = await promisify(execFile)('wrk', args, { env }).catch((cause) => {
    throw new Error('wrk did not run: is it installed (apt-get install wrk)?', { cause });
  });
  const {
    requests,
    seconds: took,
    refused,
    repeated,
    p50,
    p99,
  }: Printed = JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? '{}');
  if (refused > 0) throw new Error(`${refused} of ${requests} were not accepted`);
  if (repeated > 0 && !mayRepeat) throw new Error(`${count} requests were too few`);
  return { perSecond: requests / took, p50, p99 };
}

/** The file of a series, made at its first use. */
function requestsOf(series: string, count: number): string {
  const path = join(directory, `requests-${series}`);
  if (existsSync(path)) return path;
  const file = openSync(path, 'w');
  for (let n = 0; n < count; n++) {
    const { body, token } = notification(series, n);
    const request =
      `POST /webhooks/media HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n` +
      `Authorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    writeSync(file, `${request.length}\n${request}`);
  }
  closeSync(file);
  return path;
}
