import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packedManifest, textOf } from './manifest.ts';

/** @param root the folder of the clone */
function pathsIn(root: string) {
  const manifest = join(root, 'package.json');
  /** package.json of the clone, while npm packs */
  return { manifest, kept: `${manifest}.clone` };
}

/** Puts package.json of the package into the place of the clone's, which it keeps beside it. */
export function exchangeManifest(root: string): void {
  restoreManifest(root);
  const { manifest, kept } = pathsIn(root);
  const text = readFileSync(manifest, 'utf8');
  const packed = textOf(packedManifest(JSON.parse(text)));
  replace(kept, text);
  replace(manifest, packed);
}

/**
 * Restores the clone's package.json if it was exchanged. If this is killed, or was never called, the next call does it.
 * @throws Error if somebody has changed package.json since: neither of the two files may be lost then
 */
export function restoreManifest(root: string): void {
  const { manifest, kept } = pathsIn(root);
  if (!existsSync(kept)) return;
  const now = readFileSync(manifest, 'utf8');
  const before = readFileSync(kept, 'utf8');
  const isPacked = now === textOf(packedManifest(JSON.parse(before)));
  if (isPacked) renameSync(kept, manifest);
  else if (now === before) rmSync(kept);
  else
    throw new Error(
      `npm pack was interrupted, and ${manifest} was changed since. Make it what it should be, and delete ${kept}, which was package.json before`,
    );
}

/** Whenever the process dies, all of the new text is there, or all of the old one. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
