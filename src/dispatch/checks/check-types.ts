import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { type Finding, findingsOf } from '../../base/finding.ts';

const MOST_ERRORS = 10;

/**
 * Whether the types of the handlers fit, by the TypeScript and the tsconfig.json of their project.
 * @param file the module of the handlers
 */
export async function checkTypes(file: string): Promise<Finding> {
  const finding = findingsOf('types');
  const project = projectOf(file);
  if (project === undefined) return finding.skipped(`there is no tsconfig.json at or above ${dirname(file)}`);
  const compiler = compilerOf(file);
  if (compiler === undefined)
    return finding.skipped('TypeScript is not installed: npm install --save-dev typescript');
  const args = [compiler, '--noEmit', '--listFiles', '--pretty', 'false', '--project', project];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, told, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  if (code === 0) {
    const examined = new Set(out.split('\n'));
    if (examined.has(file) || examined.has(realpathSync(file)))
      return finding.ok(`they fit, says tsc for ${project}`);
    return finding.warn(`nobody looks at them: add ${file} to the files of ${project} ("include")`);
  }
  const errors = `${out}${told}`.split('\n').filter((line) => /\berror TS\d+/.test(line));
  const shown =
    errors.length === 0 ? [told.trim() || `tsc ended with ${code}`] : errors.slice(0, MOST_ERRORS);
  const more = errors.length > MOST_ERRORS ? [`and ${errors.length - MOST_ERRORS} more`] : [];
  return finding.fail(['they do not fit:', ...shown, ...more].join('\n  '));
}

function projectOf(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const project = join(folder, 'tsconfig.json');
    if (existsSync(project)) return project;
    if (folder === dirname(folder)) return undefined;
  }
}

function compilerOf(file: string): string | undefined {
  try {
    const manifest = createRequire(pathToFileURL(file)).resolve('typescript/package.json');
    const { bin }: { bin?: { tsc?: string } } = JSON.parse(readFileSync(manifest, 'utf8'));
    return bin?.tsc === undefined ? undefined : join(dirname(manifest), bin.tsc);
  } catch {
    return undefined; // not installed
  }
}
