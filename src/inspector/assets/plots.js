// Draws the last hour on the overview.

const AGAIN_MS = 10_000;
const HEIGHT = 200;

/** Columns of `last_hour` in `/api/stats`, each with its colour and label. */
const LINES = {
  rates: [
    ['accepted', '--pico-ins-color', 'accepted'],
    ['duplicate', '--pico-primary', 'repeated'],
    ['rejected', '--warn', 'refused'],
    ['not_recorded', '--pico-del-color', 'not recorded'],
  ],
  times: [
    ['ack_mean', '--pico-ins-color', 'ack, mean'],
    ['ack_slowest', '--pico-primary', 'ack, slowest'],
    ['handler_mean', '--warn', 'handler, mean'],
    ['handler_slowest', '--pico-del-color', 'handler, slowest'],
  ],
};

/** @type {Map<Element, import('uplot')>} */
const drawn = new Map();

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {typeof import('uplot')} uPlot @param {HTMLElement} place @param {Record<string, number[]>} hour */
function draw(uPlot, place, hour) {
  const lines = LINES[place.dataset.plot ?? ''] ?? [];
  const data = [hour.times, ...lines.map(([column]) => hour[column])];
  const known = drawn.get(place);
  if (known) return known.setData(data);
  const axis = {
    stroke: colour('--pico-muted-color'),
    grid: { stroke: colour('--pico-muted-border-color') },
  };
  const series = lines.map(([, stroke, label]) => ({
    label,
    stroke: colour(stroke),
    spanGaps: true,
    points: { show: place.dataset.plot === 'times', size: 4 },
    value: (_plot, value) => (value === null ? '–' : value.toFixed(1)),
  }));
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    series: [
      { label: 'time', value: (_plot, at) => (at === null ? '–' : clock.format(at * 1000)) },
      ...series,
    ],
    axes: [{ ...axis, values: (_plot, times) => times.map((at) => clock.format(at * 1000)) }, axis],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    cursor: { y: false },
  };
  drawn.set(place, new uPlot(options, data, place));
}

async function refresh() {
  const places = [...document.querySelectorAll('[data-plot]')];
  if (places.length === 0) return;
  const answer = await fetch('api/stats').catch(() => undefined);
  if (!answer?.ok) return;
  const { last_hour: hour } = await answer.json();
  const { default: uPlot } = await import('./uplot.js'); // only where there is something to draw
  for (const place of places) draw(uPlot, place, hour);
}

function redraw() {
  for (const plot of drawn.values()) plot.destroy();
  drawn.clear();
  refresh();
}

if (document.querySelector('[data-plot]')) {
  refresh();
  setInterval(() => document.hidden || refresh(), AGAIN_MS);
  addEventListener('resize', redraw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
}
