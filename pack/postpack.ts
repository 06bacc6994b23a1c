import { rmSync } from 'node:fs';
import { DIST, ROOT } from './build.ts';
import { restoreManifest } from './clone-manifest.ts';

// npm runs this after it has packed.
restoreManifest(ROOT);
rmSync(DIST, { recursive: true, force: true });
