import { fileURLToPath } from 'node:url';

/** A recorded reason is not longer; one of this length was cut, and after another number of lines in another checkout. */
const LONGEST = 4000;
/** Of a reason that was cut, the first error is the same in every checkout, and so much of a message at least. */
const CERTAIN = 1000;
/** Frames of one stack that are kept: the longer the paths of a checkout, the fewer frames are recorded beyond the first. */
const FRAMES = 1;
/** How often a reason is looked through, at most. */
const MOST_ROUNDS = 8;

/** This project, as a path with slashes that ends with one. */
const ROOT = new URL('../../', import.meta.url);
const PROJECT = slashed(fileURLToPath(ROOT));
/** As texts name it: taken out first and as a whole, since a path with spaces cannot be told from words. */
const PROJECT_NAMES = [ROOT.href, fileURLToPath(ROOT)];

const FRAME = /^\s+at\s+(?:(.*?)\s*\(\s*)?([^()\s](?:[^()]*[^()\s])?)\s*\)?\s*$/;
/** Line, or line and column, behind a path. */
const POSITION = /:\d+(?::\d+)?$/;
const POSITIONS_IN_CODE = /(?<=[\w-]\.(?:[cm]?[jt]s|json)):\d+(?::\d+)?/g;

const ROOMS =
  'base|cli|dispatch|handlers|inspector|mock|notification|provider|receiver|recipes|recording|replay|store|testing';
/** Where a path begins to be the same in every checkout; the first of these that it has counts. */
const ANCHORS = [
  /^.*?\/(?=node_modules\/)/,
  new RegExp(String.raw`^.*?\/(?=src\/(?:${ROOMS})\/)`),
  /^.*?\/(?=(?:src|test|dist|lib|bin)\/)/,
];
/** What begins like this is on a machine, and not the path of a URL. */
const MACHINE = /^\/(?:tmp|var|home|root|Users|Volumes|private|opt|srv|usr|etc|mnt)\//;

/** A part of a path between its slashes. */
const PART = String.raw`[^\s'"${'`'}()<>[\]{}|:*?,;\\/]+`;
/** An absolute path of any system as it stands in a text, with the position behind it. */
const PATH = new RegExp(
  String.raw`(?<![\w.:/\\>-])(?:file:\/{2,3}(?:[A-Za-z]:)?|[A-Za-z]:(?=[\\/]))?[\\/]{1,2}(?:${PART}[\\/]{1,2})+(?:${PART})?(?:\?[\w=&.%-]*)?(?::\d+){0,2}`,
  'g',
);
const QUOTED_PATH = /(['"`])((?:file:\/{2,3})?(?:[A-Za-z]:)?[\\/][^'"`\n]{1,1000})\1/g;

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const CLOCK = String.raw`\d\d:\d\d:\d\d(?:[.,]\d{1,9})?`;

/** What differs from one run to the next, and what stands in its place. The order counts: a time looks like an address. */
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
 * A reason without what is of one run, one checkout or one machine only: paths become relative to the project, frames
 * inside Node and positions in files go, addresses, times and ids become placeholders. What is portable stays as it is.
 */
export function portable(reason: string): string {
  const isCut = reason.length >= LONGEST;
  let whole = reason.slice(0, LONGEST);
  // What stands in place of a path or a frame can make a frame or a path together with what is around it.
  for (let before = '', round = 0; whole !== before && round < MOST_ROUNDS; round++) {
    before = whole;
    whole = withPortableLines(whole, isCut);
  }
  return isCut ? whole.slice(0, CERTAIN).trimEnd() : whole;
}

/** Each line as portable as it is by itself, and of each stack its first frame that stands in a file. */
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

/** Frames of Node itself, and of what it runs without a file; which of them stand in a stack varies. */
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

/** Whether this names a file on a machine, and not a path of a URL, such as `/v2/sites/`. */
function isFile(path: string): boolean {
  const plain = slashed(path).replace(POSITION, '');
  const isNamed = MACHINE.test(plain) || plain.startsWith(PROJECT) || /\.\w{1,5}$/.test(plain);
  return isNamed || /^file:|^[A-Za-z]:/.test(path) || ANCHORS.some((anchor) => anchor.test(plain));
}

/** A path from the project on; of one that is outside of every project, its last part. */
function relative(given: string): string {
  const url = /^file:\/\//.test(given) ? given.slice('file://'.length).replaceAll('%20', ' ') : given;
  const path = slashed(url)
    .replace(POSITION, '')
    .replace(/\?[^/]*$/, ''); // what a module was loaded with
  if (path.startsWith(PROJECT)) return path.slice(PROJECT.length);
  if (!/^(?:\/|[A-Za-z]:\/)/.test(path)) return path;
  const anchor = ANCHORS.find((one) => one.test(path));
  return anchor ? path.replace(anchor, '') : `<path>/${path.slice(path.lastIndexOf('/') + 1)}`;
}

/** A Windows path as others are. */
function slashed(path: string): string {
  return path.replace(/\\+/g, '/').replace(/^\/(?=[A-Za-z]:\/)/, '');
}

function withPlaceholders(text: string): string {
  return PLACEHOLDERS.reduce((left, [what, placeholder]) => left.replace(what, placeholder), text);
}
