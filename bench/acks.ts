import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { LoadResult } from './load.ts';

/** Acks a second beside a bare Express route and the textbook receiver: one run, interleaved, medians, ratios. */
const TARGETS = ['bare-express', 'textbook', 'ours'] as const;
const CONNECTIONS = [1, 32, 128];
const ROUNDS = 5;
const REQUESTS = { 1: 2000, 32: 20_000, 128: 20_000 } as Record<number, number>;

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const warm = 2000;
let series = 1;

async function measure(target: string, connections: number): Promise<LoadResult> {
  const server = fork(here(`./targets/${target}.ts`));
  const [{ port, directory }] = (await once(server, 'message')) as [{ port: number; directory?: string }];
  await load(port, 32, warm);
  const result = await load(port, connections, REQUESTS[connections] ?? 0);
  server.kill('SIGKILL');
  await once(server, 'exit');
  if (directory) rmSync(directory, { recursive: true, force: true });
  return result;
}

async function load(port: number, connections: number, count: number): Promise<LoadResult> {
  const child = fork(here('./load.ts'), [port, connections, count, series++].map(String));
  const [result] = (await once(child, 'message')) as [LoadResult];
  if (result.notOk > 0) throw new Error(`${result.notOk} answers were not 200`);
  return result;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

const lines = [
  '# Acks',
  '',
  `${cpus().length} × ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}.`,
  `Medians of ${ROUNDS} interleaved rounds. Server and load generator share the machine; \`load\` is the generator's`,
  'share of a core. `textbook`: jsonwebtoken with the secret as a string, one durable insert a request.',
  '',
  '| connections | target | acks/s | of bare Express | of textbook | p50 ms | p99 ms | load |',
  '|---|---|---|---|---|---|---|---|',
];
for (const connections of CONNECTIONS) {
  const results = new Map<string, LoadResult[]>(TARGETS.map((target) => [target, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const target of TARGETS) results.get(target)?.push(await measure(target, connections));
  }
  const rate = (target: string) => median((results.get(target) ?? []).map(({ perSecond }) => perSecond));
  for (const target of TARGETS) {
    const of = (field: keyof LoadResult) => median((results.get(target) ?? []).map((one) => one[field]));
    const ratio = (base: string) => (rate(target) / rate(base)).toFixed(2);
    lines.push(
      `| ${connections} | ${target} | ${Math.round(rate(target))} | ${ratio('bare-express')} | ${ratio('textbook')} | ` +
        `${of('p50').toFixed(2)} | ${of('p99').toFixed(2)} | ${of('cpu').toFixed(2)} |`,
    );
    process.stdout.write(`${lines.at(-1)}\n`);
  }
}
writeFileSync(here('./RESULTS.md'), `${lines.join('\n')}\n`);
