import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, ROOT } from './build.ts';
import { exchangeManifest, restoreManifest } from './clone-manifest.ts';
import { doors } from './manifest.ts';

// npm runs this before it packs. package.json is exchanged last: if the compiler fails, there is nothing to restore.
restoreManifest(ROOT);
build(doors(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))));
exchangeManifest(ROOT);
