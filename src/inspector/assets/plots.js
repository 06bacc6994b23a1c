// Draws the last hour on the overview.

import uPlot from './uplot.js';

const AGAIN_MS = 10_000;
const HEIGHT = 200;

/** Columns of `last_hour` in `/api/stats`, each with its label and colour. */
const LINES = {
  rates: [
    ['accepted', 'accepted', '--pico-ins-color'],
    ['duplicate', 'repeated', '--pico-primary'],
    ['rejected', 'refused', '--warn'],
    ['not_recorded', 'not recorded', '--pico-del-color'],
  ],
  times: [
    ['ack_mean', 'ack, mean', '--pico-ins-color'],
    ['ack_slowest', 'ack, slowest', '--pico-primary'],
    ['handler_mean', 'handler, mean', '--warn'],
    ['handler_slowest', 'handler, slowest', '--pico-del-color'],
  ],
};

const format = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clock = (at) => (at === null ? '–' : format.format(at * 1000));

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {HTMLElement} place @param {Record<string, number[]>} hour */
function draw(place, hour) {
  const { plot: name = '' } = place.dataset;
  const axis = {
    stroke: colour('--pico-muted-color'),
    grid: { stroke: colour('--pico-muted-border-color') },
  };
  const series = LINES[name].map(([, label, stroke]) => ({
    label,
    stroke: colour(stroke),
    spanGaps: true,
    points: { show: name === 'times', size: 4 },
    value: (_plot, value) => (value === null ? '–' : value.toFixed(1)),
  }));
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    series: [{ label: 'time', value: (_plot, at) => clock(at) }, ...series],
    axes: [{ ...axis, values: (_plot, times) => times.map(clock) }, axis],
    scales: { y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.1)] } },
    cursor: { y: false },
  };
  place.replaceChildren();
  new uPlot(options, [hour.times, ...LINES[name].map(([column]) => hour[column])], place);
}

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch('api/stats').catch(() => undefined);
  if (!answer?.ok) return;
  const { last_hour: hour } = await answer.json();
  for (const place of document.querySelectorAll('[data-plot]')) draw(place, hour);
}

refresh();
setInterval(refresh, AGAIN_MS);
for (const event of ['resize', 'visibilitychange']) addEventListener(event, refresh);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', refresh);
