// Draws the charts of the overview.

import uPlot from './uplot.js';

const AGAIN_MS = 10_000;
const HEIGHT = 200;

/** Columns of `/api/series`, each with its label and colour. */
const LINES = {
  rates: [
    ['accepted', 'accepted', '--pico-ins-color'],
    ['duplicate', 'repeated', '--pico-primary'],
    ['rejected', 'refused', '--warn'],
    ['not_recorded', 'not recorded', '--pico-del-color'],
  ],
  runs: [
    ['handled', 'handled', '--pico-ins-color'],
    ['skipped', 'skipped', '--pico-muted-color'],
    ['failed', 'failed', '--pico-del-color'],
  ],
  backlog: [['backlog', 'pending', '--pico-primary']],
  times: [
    ['ack_mean', 'ack, mean', '--pico-ins-color'],
    ['ack_slowest', 'ack, slowest', '--pico-primary'],
    ['handler_mean', 'handler, mean', '--warn'],
    ['handler_slowest', 'handler, slowest', '--pico-del-color'],
  ],
};

/** uPlot keeps each plot in memory until it is destroyed. */
const drawn = new Map();

const format = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clock = (at) => (at === null ? '–' : format.format(at * 1000));

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {HTMLElement} place @param {Record<string, number[]>} columns */
function draw(place, columns) {
  const { plot: name = '' } = place.dataset;
  const axis = {
    stroke: colour('--pico-muted-color'),
    grid: { stroke: colour('--pico-muted-border-color') },
  };
  const series = LINES[name].map(([, label, stroke]) => ({
    label,
    stroke: colour(stroke),
    spanGaps: true,
    points: { show: name === 'times' || name === 'backlog', size: 4 },
    value: (_plot, value) => (value === null ? '–' : value.toFixed(1)),
  }));
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    padding: [null, 28, null, null], // room for the last time
    series: [{ label: 'time', value: (_plot, at) => clock(at) }, ...series],
    axes: [{ ...axis, values: (_plot, times) => times.map(clock) }, axis],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    cursor: { y: false },
  };
  const data = [columns.times, ...LINES[name].map(([column]) => columns[column])];
  drawn.get(place)?.destroy();
  drawn.set(place, new uPlot(options, data, place));
}

async function refresh() {
  if (document.hidden) return;
  const places = document.querySelectorAll('[data-plot]');
  const answer = await fetch(`api/series?span=${places[0].dataset.span}`).catch(() => undefined);
  if (!answer?.ok) return;
  const columns = await answer.json();
  for (const place of places) draw(place, columns);
}

refresh();
setInterval(refresh, AGAIN_MS);
for (const event of ['resize', 'visibilitychange']) addEventListener(event, refresh);
