import { readFileSync } from 'node:fs';

/** The kit's own folder: a clone, or the installed package. */
export const kitFolder = new URL('../../', import.meta.url);

/** The name of the kit's package. */
export const KIT = 'webhook-receiver-kit';

const manifest = readFileSync(new URL('package.json', kitFolder), 'utf8');

/** The version of the kit, such as 1.0.0: of the program that runs, whatever is installed meanwhile. */
export const kitVersion: string = JSON.parse(manifest).version;

/** Whether this is the installed package, which holds JavaScript. A clone runs the TypeScript itself. */
export const isPackage = import.meta.url.endsWith('.js');

/**
 * The URL under which a module of the kit is loaded. The compiler changes the extensions of imports, and leaves URLs alone.
 * @param source the module's TypeScript
 */
export function moduleUrl(source: URL): URL {
  return isPackage ? new URL(source.href.replace(/\.ts$/, '.js')) : source;
}
