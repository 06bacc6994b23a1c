import { fileURLToPath } from 'node:url';
import { kitFolder } from '../base/program.ts';

/** In characters. A reason of this length was cut, and each checkout cuts it after another number of lines. */
const LONGEST = 4000;
/** How many characters of a cut reason are the same in every checkout. */
const CERTAIN = 1000;
/** How many frames of a stack are kept: long paths of a checkout leave room for few frames beyond the first. */
const FRAMES = 1;
/** How often a reason is searched, at most. */
const MOST_ROUNDS = 8;

/** This project, as a path with slashes and one at the end; for an installed package it is the project that has installed it. */
const ROOT = new URL(kitFolder.href.replace(/node_modules\/.*$/, ''));
const PROJECT = slashed(fileURLToPath(ROOT));
/** Its names in texts. They are removed first and as a whole: a path with spaces looks like words. */
const PROJECT_NAMES = [ROOT.href, fileURLToPath(ROOT)];

const FRAME = /^\s+at\s+(?:(.*?)\s*\(\s*)?([^()\s](?:[^()]*[^()\s])?)\s*\)?\s*$/;
/** The line, or line and column, behind a path. */
const POSITION = /:\d+(?::\d+)?$/;
const POSITIONS_IN_CODE = /(?<=[\w-]\.(?:[cm]?[jt]s|json)):\d+(?::\d+)?/g;

const ROOMS =
  'base|cli|dispatch|handlers|inspector|mock|notification|provider|receiver|recipes|recording|replay|store|testing';
/** Where a path begins to be the same in every checkout; the first match counts. */
const ANCHORS = [
  /^.*?\/(?=node_modules\/)/,
  new RegExp(String.raw`^.*?\/(?=src\/(?:${ROOMS})\/)`),
  /^.*?\/(?=(?:src|test|dist|lib|bin)\/)/,
];
/** A path that begins like this is of a machine, not of a URL. */
const MACHINE = /^\/(?:tmp|var|home|root|Users|Volumes|private|opt|srv|usr|etc|mnt)\//;

/** A part of a path between its slashes. */
const PART = String.raw`[^\s'"${'`'}()<>[\]{}|:*?,;\\/]+`;
/** An absolute path of any system in a text, with the position behind it. */
const PATH = new RegExp(
  String.raw`(?<![\w.:/\\>-])(?:file:\/{2,3}(?:[A-Za-z]:)?|[A-Za-z]:(?=[\\/]))?[\\/]{1,2}(?:${PART}[\\/]{1,2})+(?:${PART})?(?:\?[\w=&.%-]*)?(?::\d+){0,2}`,
  'g',
);
const QUOTED_PATH = /(['"`])((?:file:\/{2,3})?(?:[A-Za-z]:)?[\\/][^'"`\n]{1,1000})\1/g;

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const CLOCK = String.raw`\d\d:\d\d:\d\d(?:[.,]\d{1,9})?`;

/** Patterns of texts that differ from run to run, with placeholders. The order counts: a time looks like an address. */
const PLACEHOLDERS: readonly (readonly [RegExp, string])[] = [
  [new RegExp(String.raw`\b\d{4}-\d\d-\d\d[T ]${CLOCK}(?: ?(?:Z|[+-]\d\d:?\d\d|UTC|GMT))?`, 'g'), '<time>'],
  [
    new RegExp(String.raw`\b${DAY},? \d{1,2} ${MONTH} \d{4} ${CLOCK}(?: (?:GMT|UTC|[+-]\d{4}))?`, 'g'),
    '<time>',
  ],
  [
    new RegExp(
      String.raw`\b${DAY} ${MONTH} \d{1,2} \d{4} ${CLOCK}(?: GMT[+-]\d{4})?(?: \([\w ]{1,60}\))?`,
      'g',
    ),
    '<time>',
  ],
  [/\b\d{4}-\d\d-\d\d\b(?!-)/g, '<time>'],
  [new RegExp(String.raw`(?<![\w:])${CLOCK}(?![\w:])`, 'g'), '<time>'],
  [/(?<![\w.-])1[4-9]\d{8}(?:\d{3})?(?![\w.-])/g, '<time>'],
  [/(?<![\w.])\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|seconds?|milliseconds?|minutes?)(?!\w)/g, '<duration>'],
  [/(?<![\w-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])/gi, '<id>'],
  [/(?<=\bpid(?:: ?|=| ))\d+\b/gi, '<id>'],
  [/(?<![\w-])-?[0-9a-z]{1,11}-[0-9a-f]{20}(?![\w-])/g, '<id>'],
  [/(?<![0-9A-Za-z_])0x[0-9a-f]+\b/gi, '<address>'],
  [/(?<![0-9A-Za-z_-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{12,}(?:-\d+)?(?![0-9A-Za-z_-])/gi, '<id>'],
  [/(?<![0-9A-Za-z_])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z_])/g, '<id>'],
  [/(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.]*\w)/g, '<address>'],
  [/\[[0-9a-f:.]{0,45}:[0-9a-f:.]{0,45}(?:%\w{1,20})?\](?::\d{1,5})?/gi, '<address>'],
  [/(?<![\w:.])(?=[0-9a-f:]*::)(?:[0-9a-f]{0,4}:){2,8}(?:[0-9a-f]{1,4}|\d{1,5})?(?![\w:])/gi, '<address>'],
  [/(?<![\w:.])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?::\d{1,5})?(?![\w:])/gi, '<address>'],
  [/(?<![\w.-])localhost(?::\d{1,5})?(?![\w.-]*\w)/g, '<address>'],
];

/**
 * Makes a reason the same for every run, checkout and machine: paths become relative to the project; frames inside Node and
 * positions in files are removed; addresses, times and ids become placeholders. A portable reason stays as it is.
 */
export function portable(reason: string): string {
  const isCut = reason.length >= LONGEST;
  let whole = reason.slice(0, LONGEST);
  // A replaced path or frame can form a new frame or path with the text around it.
  for (let before = '', round = 0; whole !== before && round < MOST_ROUNDS; round++) {
    before = whole;
    whole = withPortableLines(whole, isCut);
  }
  return isCut ? whole.slice(0, CERTAIN).trimEnd() : whole;
}

/** Makes each line portable, and keeps of each stack the first frame that is in a file. */
function withPortableLines(reason: string, isCut: boolean): string {
  let frames = 0;
  const kept: string[] = [];
  for (const text of reason.split(/\r?\n/)) {
    const frame = FRAME.exec(text);
    if (!frame) {
      if (frames > 0 && isCut) break;
      frames = 0;
      kept.push(withPlaceholders(withRelativePaths(text)));
      continue;
    }
    const [, name, place = ''] = frame;
    if (isInsideNode(place) || ++frames > FRAMES) continue;
    const path = relative(place.replace(/^async /, ''));
    kept.push(name === undefined ? `    at ${path}` : `    at ${name} (${path})`);
  }
  return kept.join('\n').trimEnd();
}

/** A frame of Node, or of code without a file; which of them a stack has varies. */
function isInsideNode(place: string): boolean {
  return /^(?:async )?node:|^<anonymous>$|^native$|^index \d+$|^Promise\.|^new Promise/.test(place);
}

function withRelativePaths(text: string): string {
  const ownOrRelative = (path: string) => (isFile(path) ? relative(path) : path);
  return PROJECT_NAMES.reduce((left, name) => left.replaceAll(name, ''), text)
    .replace(QUOTED_PATH, (_all, quote: string, path: string) => `${quote}${ownOrRelative(path)}${quote}`)
    .replace(PATH, ownOrRelative)
    .replace(POSITIONS_IN_CODE, '');
}

/** Whether this names a file of a machine, and not the path of a URL, such as `/v2/sites/`. */
function isFile(path: string): boolean {
  const plain = slashed(path).replace(POSITION, '');
  const isNamed = MACHINE.test(plain) || `${plain}/`.startsWith(PROJECT) || /\.\w{1,5}$/.test(plain);
  return isNamed || /^file:|^[A-Za-z]:/.test(path) || ANCHORS.some((anchor) => anchor.test(plain));
}

/** A path from the project on; only the last part of a path outside of every project. */
function relative(given: string): string {
  const url = /^file:\/\//.test(given) ? given.slice('file://'.length).replaceAll('%20', ' ') : given;
  const path = slashed(url)
    .replace(POSITION, '')
    .replace(/\?[^/]*$/, ''); // the query of a module
  if (`${path}/`.startsWith(PROJECT)) return path.slice(PROJECT.length) || '.';
  if (!/^(?:\/|[A-Za-z]:\/)/.test(path)) return path;
  const anchor = ANCHORS.find((one) => one.test(path));
  return anchor ? path.replace(anchor, '') : `<path>/${path.slice(path.lastIndexOf('/') + 1)}`;
}

/** A path of Windows with slashes. */
function slashed(path: string): string {
  return path.replace(/\\+/g, '/').replace(/^\/(?=[A-Za-z]:\/)/, '');
}

function withPlaceholders(text: string): string {
  return PLACEHOLDERS.reduce((left, [what, placeholder]) => left.replace(what, placeholder), text);
}
