import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Finding, findingsOf } from '../../base/finding.ts';
import { kitFolder } from '../../base/program.ts';

const COMMENTS = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;
/** Imports and re-exports of types and values, and modules that are loaded later. */
const STATEMENTS = [
  /^\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^\s*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]/g,
];

const KIT = fileURLToPath(kitFolder);
/** What a clone's handlers may import of it; the rest may change with any version. */
const DOORS =
  /^src\/(?:index\.ts|dispatch\/handler\.ts|testing\/index\.ts|mock\/index\.ts|(?:provider|notification|recipes)\/.+)$/;
const OWN = /^src\/handlers(?:\/|\.ts$)/;

/**
 * Whether the handlers, and the files that they import, keep to the doors of the kit.
 * @param file the module of the handlers
 */
export function checkImports(file: string): Finding {
  const finding = findingsOf('imports');
  const seen = new Set<string>();
  const breaches: string[] = [];
  const follow = (path: string): void => {
    if (seen.has(path) || !existsSync(path)) return;
    seen.add(path);
    const code = readFileSync(path, 'utf8').replaceAll(COMMENTS, '');
    for (const [, specifier = ''] of STATEMENTS.flatMap((statement) => [...code.matchAll(statement)])) {
      if (!specifier.startsWith('.')) continue; // Node resolves packages by their exports alone
      const target = resolve(dirname(path), specifier);
      const inKit = relative(KIT, target);
      const isKits = inKit.startsWith('src/') || inKit.startsWith('dist/');
      if (!isKits || OWN.test(inKit)) follow(target);
      else if (!DOORS.test(inKit)) breaches.push(`${relative(dirname(file), path)} imports ${specifier}`);
    }
  };
  follow(file);
  if (breaches.length === 0) return finding.ok(`${seen.size} files import nothing of the kit's inside`);
  return finding.fail(
    `${breaches.join('; ')}: the inside of the kit changes with any version. Import src/index.ts, src/testing/, src/mock/ or src/provider/; in an app webhook-receiver-kit and what it exports`,
  );
}
