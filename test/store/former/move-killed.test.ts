import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { Random } from '../../../src/mock/random.ts';
import { endAfterSuite } from '../../jest/left-behind.ts';
import { eventually } from '../../support/eventually.ts';
import { recordFormerly } from '../../support/first-version.ts';
import type { Calls } from '../../support/move-database.ts';
import { differences, enlarge } from '../../support/moved-whole.ts';
import { size, some } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';
import { type Extent, unpackVersion8 } from '../../support/version-8.ts';

const program = fileURLToPath(new URL('../../support/move-database.ts', import.meta.url));
/** Kills after each of which the next process goes on. */
const KILLS = size({ small: 1, full: 20 });
/** What is moved again and again, once for each kill between two calls. */
const EXTENT = size<Extent>({ small: 'part', full: 'whole' });
/** How often the fixture has 10,000 events: a million at full size. */
const TIMES = size({ small: 1, full: 100 });

let directory: string;
/** Where each extent of the fixture is. */
let originals: Readonly<Record<Extent, string>>;
let path: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  originals = { whole: join(directory, 'whole.db'), part: join(directory, 'part.db') };
  for (const extent of ['whole', 'part'] as const) unpackVersion8(originals[extent], extent);
});
afterAll(() => rmSync(directory, { recursive: true }));

/** A copy of the fixture, and nothing else beside it. */
function copyFixture(original = originals.whole): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith('receiver.db')) rmSync(join(directory, name));
  }
  copyFileSync(original, path);
}

interface Run {
  readonly links?: 'links' | 'no links';
  /** before which call of node:fs it ends */
  readonly killBefore?: number;
  /** after which step it ends */
  readonly killAfter?: number;
  /** at which size of the new file it is killed */
  readonly killAtBytes?: number;
}

/** Opens the database in a process of its own. */
async function run({ links = 'links', killBefore, killAfter, killAtBytes }: Run = {}) {
  const kills = Object.entries({ call: killBefore, step: killAfter });
  const kill = kills.flatMap(([what, at]) => (at === undefined ? [] : [what, String(at)]));
  const child = spawn(process.execPath, [program, path, links, ...kill]);
  child.once(
    'exit',
    endAfterSuite(() => child.kill('SIGKILL')),
  );
  const exited = new Promise<NodeJS.Signals | null>((resolve) =>
    child.once('exit', (_, signal) => resolve(signal)),
  );
  const grown = async (bytes: number) => {
    const isOver = () => child.exitCode !== null || child.signalCode !== null;
    await eventually(`the new file has ${bytes} bytes`, () => isOver() || newBytes() >= bytes);
    child.kill('SIGKILL');
  };
  const [stdout, stderr, signal] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    exited,
    killAtBytes === undefined ? undefined : grown(killAtBytes),
  ]);
  return { stdout, stderr, wasKilled: signal === 'SIGKILL' };
}

const newBytes = () => statSync(`${path}.migrating`, { throwIfNoEntry: false })?.size ?? 0;

function expectWhole(): void {
  expect(differences(path, `${path}.version-8`)).toEqual({});
  expect(existsSync(`${path}.migrating`)).toBe(false);
}

test.each(some(1, ['links', 'no links'] as const))(
  'a move ends whole, when it was killed between any two calls to the file system, with %s',
  async (links) => {
    copyFixture(originals[EXTENT]);
    const calls: Calls = JSON.parse((await run({ links })).stdout);
    expectWhole();
    const all = calls.map((name, index) => ({ name, index }));
    const isName = ({ name }: { readonly name: string }) => name === 'linkSync' || name === 'renameSync';
    // Those around the ones that give a file its name are told apart from the others.
    const around = all.filter((one, index) => isName(one) || isName(all[index - 1] ?? one));
    const others = all.filter((one) => !around.includes(one));
    expect(around.length).toBeGreaterThan(3);
    for (const { name, index } of [...some(2, around), ...some(1, others)]) {
      copyFixture(originals[EXTENT]);
      expect({ name, index, ...(await run({ links, killBefore: index })) }).toMatchObject({
        wasKilled: true,
      });
      expect((await run({ links })).wasKilled).toBe(false);
      expectWhole();
    }
  },
);

test('a move that is killed after each of its steps makes each step once, and says how far it is', async () => {
  copyFixture();
  const saidOf = (stderr: string) => stderr.split('\n').filter((line) => /^moved .* events/.test(line));
  const said = saidOf((await run({ killAfter: Number.POSITIVE_INFINITY })).stderr);
  expect(said.slice(0, 2)).toEqual([
    'moved 5000 of 10000 events',
    'moved all 10000 events, now the lists of them',
  ]);
  copyFixture();
  const again: string[] = [];
  for (const step of said) {
    const { stderr, wasKilled } = await run({ killAfter: 1 });
    expect({ step, wasKilled }).toEqual({ step, wasKilled: true });
    expect(stderr.includes('going on to move')).toBe(again.length > 0);
    again.push(...saidOf(stderr));
  }
  const { stderr, wasKilled } = await run({ killAfter: 1 });
  expect({ wasKilled, said: saidOf(stderr) }).toEqual({ wasKilled: false, said: [] });
  expect(again).toEqual(said);
  expectWhole();
});

test(`a move of ${TIMES}0,000 events ends whole, when it was killed ${KILLS} times on its way, and goes on from where it was`, async () => {
  const random = new Random(8);
  const original = join(directory, 'large.db');
  copyFileSync(originals.whole, original);
  if (TIMES > 1) enlarge(original, TIMES);
  const whole = statSync(original).size;
  let killed = 0;
  let goneOn = 0;
  // From one kill to the next, the new file grows by this share of the former one, at most. On a busy machine it grows by more
  // before it is killed, and the move can be over: then it is tried again, with kills that follow each other sooner.
  for (let share = 1 / KILLS; goneOn < KILLS && share > 1e-6; share /= 2) {
    copyFixture(original);
    killed = 0;
    goneOn = 0;
    while (goneOn < KILLS) {
      const before = newBytes();
      const { wasKilled, stderr } = await run({ killAtBytes: before + 1 + whole * share * random.next() });
      if (stderr.includes('going on to move')) goneOn++;
      if (!wasKilled) break;
      killed++;
      expect(newBytes()).toBeGreaterThanOrEqual(before);
    }
  }
  await run();
  process.stdout.write(`moved: killed ${killed} times, went on ${goneOn} times\n`);
  expect({ goneOn, hasKilled: killed >= KILLS }).toEqual({ goneOn: KILLS, hasKilled: true });
  expectWhole();
});

test('a move begins anew, when the former program has worked with the database since it was killed', async () => {
  // On a busy machine a short move can be over before it is killed.
  for (let tries = 0; tries < 20; tries++) {
    copyFixture();
    if ((await run({ killAtBytes: 100_000 })).wasKilled) break;
  }
  expect(newBytes()).toBeGreaterThan(0);
  const former = new Database(path);
  former.pragma('journal_mode = WAL');
  recordFormerly(former, verified({ media_id: 'between' }), 1);
  former.exec("UPDATE events SET last_error = 'changed' WHERE seq = 1");
  former.close();
  expect((await run()).stderr).not.toContain('going on');
  expectWhole();
});
