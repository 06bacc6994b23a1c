// package.json in the package is not that of a clone: a clone runs src/*.ts, the package dist/*.js.

/** What this needs to know of package.json. */
export interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

/** What a clone needs and the package does not. */
const OF_CLONES = ['devDependencies', 'overrides', 'allowScripts'];
/** If npm is killed while it packs, the next one finds these, and they restore what it finds. No installation runs them. */
const SCRIPTS = ['prepack', 'postpack'];

/** package.json as the package has it. */
export function packedManifest(manifest: Manifest): Manifest {
  const members = Object.entries(manifest).filter(([name]) => !OF_CLONES.includes(name));
  const doors = Object.entries(manifest.exports).map(([name, source]) => [name, packedDoor(source)]);
  const scripts = Object.entries(manifest.scripts ?? {}).filter(([name]) => SCRIPTS.includes(name));
  return {
    ...Object.fromEntries(members),
    exports: Object.fromEntries(doors),
    scripts: Object.fromEntries(scripts),
  };
}

/** @param source such as ./src/mock/index.ts */
function packedDoor(source: unknown): object {
  const [, module] = /^\.\/src\/(.+)\.ts$/.exec(String(source)) ?? [];
  if (module === undefined) throw new Error(`package.json exports ${source}, which is no file of src/`);
  return { types: `./dist/${module}.d.ts`, default: `./dist/${module}.js` };
}

/** The sources that the package exports, as paths below src/. */
export function doors({ exports }: Manifest): string[] {
  return Object.values(exports).map((source) => String(source).replace('./src/', ''));
}

export function textOf(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
