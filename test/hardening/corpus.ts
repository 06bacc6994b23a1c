import { readdirSync } from 'node:fs';
import type { CorpusRequest } from './corpus-request.ts';

const folder = new URL('corpus/', import.meta.url);

/** Every hostile request: a file of `corpus/` each. Whoever finds another adds a file, and every test and benchmark has it. */
export async function corpusRequests(): Promise<readonly CorpusRequest[]> {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .toSorted();
  const modules: { default: CorpusRequest }[] = await Promise.all(
    files.map((file) => import(new URL(file, folder).href)),
  );
  return modules.map((module) => module.default);
}
