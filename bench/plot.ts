/** One line of a plot. Points without a value are left out. */
export interface Line {
  readonly name: string;
  /** of CSS */
  readonly color: string;
  readonly isDashed: boolean;
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface Plot {
  readonly title: string;
  /** what x and y are */
  readonly x: string;
  /** where the scale to the right ends */
  readonly mostX: number;
  readonly y: string;
  readonly lines: readonly Line[];
}

const WIDTH = 800;
const HEIGHT = 420;
const LEFT = 60;
const RIGHT = 540;
const TOP = 40;
const BOTTOM = 370;

/** An SVG drawing of lines with a legend, over a scale from 0 on to the right and a logarithmic one upwards. */
export function plotSvg({ title, x, mostX, y, lines }: Plot): string {
  const drawn = lines.map((line) => ({ ...line, points: line.points.filter(([, value]) => value > 0) }));
  const all = drawn.flatMap(({ points }) => points);
  const lowest = Math.floor(Math.log10(Math.min(1, ...all.map(([, value]) => value))));
  const highest = Math.ceil(Math.log10(Math.max(10, ...all.map(([, value]) => value))));
  const across = (at: number) => LEFT + ((RIGHT - LEFT) * at) / mostX;
  const up = (value: number) => BOTTOM - ((BOTTOM - TOP) * (Math.log10(value) - lowest)) / (highest - lowest);
  const decades = Array.from({ length: highest - lowest + 1 }, (_, index) => 10 ** (lowest + index));
  const fifths = [0, 1, 2, 3, 4, 5].map((part) => (mostX * part) / 5);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(LEFT, 22, 'start', title),
    ...decades.flatMap((value) => [
      stroke([LEFT, up(value)], [RIGHT, up(value)], '#ddd'),
      text(LEFT - 8, up(value) + 4, 'end', String(Number(value.toPrecision(1)))),
    ]),
    ...fifths.map((at) => text(across(at), BOTTOM + 18, 'middle', String(Number(at.toPrecision(3))))),
    text((LEFT + RIGHT) / 2, BOTTOM + 38, 'middle', x),
    `<text transform="translate(16 ${(TOP + BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(y)}</text>`,
    ...drawn.flatMap(({ name, color, isDashed, points }, index) => {
      const height = TOP + 20 * index;
      const path = points.map(([at, value]) => `${across(at).toFixed(1)},${up(value).toFixed(1)}`);
      const dashes = isDashed ? '6 4' : 'none';
      return [
        `<polyline points="${path.join(' ')}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"/>`,
        stroke([RIGHT + 16, height], [RIGHT + 46, height], color, dashes),
        text(RIGHT + 52, height + 4, 'start', name),
      ];
    }),
    '</svg>\n',
  ].join('\n');
}

type Place = readonly [x: number, y: number];

function stroke(from: Place, to: Place, color: string, dashes = 'none'): string {
  return `<line x1="${from[0]}" y1="${from[1]}" x2="${to[0]}" y2="${to[1]}" stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"/>`;
}

function text(x: number, y: number, anchor: 'start' | 'middle' | 'end', content: string): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
