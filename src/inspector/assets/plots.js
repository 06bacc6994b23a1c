// Draws the plots of the overview.

import uPlot from './uplot.js';

const AGAIN_MS = 10_000;
const HEIGHT = 100;

/** Of each plot the columns of `/api/series`, with labels and colours. The last one has its scale on the right. */
const LINES = {
  in: [
    ['received', 'received a second', '--pico-ins-color'],
    ['rejected', 'refused', '--warn'],
    ['not_recorded', 'not recorded', '--pico-del-color'],
    ['ack_mean', 'ack, ms', '--pico-primary'],
  ],
  done: [
    ['handled', 'handled a second', '--pico-ins-color'],
    ['failed', 'failed', '--pico-del-color'],
    ['backlog', 'waiting', '--pico-primary'],
  ],
  kept: [
    ['commit_mean', 'commit, ms', '--pico-ins-color'],
    ['busy_percent', 'busy, %', '--pico-primary'],
  ],
};

/** uPlot keeps each plot in memory until it is destroyed. */
const drawn = new Map();

const format = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const clock = (at) => format.format(at * 1000);

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @param {HTMLElement} place @param {Record<string, number[]>} columns */
function draw(place, columns) {
  const lines = LINES[place.dataset.plot ?? ''];
  const series = lines.map(([, label, stroke], n) => ({
    label,
    stroke: colour(stroke),
    width: 1.5,
    scale: n === lines.length - 1 ? 'right' : 'left',
    spanGaps: true,
    value: (_plot, value) => value?.toFixed(1) ?? '',
  }));
  const first = columns.times[0];
  const last = Math.max(columns.times.at(-1), first + 600); // ten minutes at least
  const stroke = colour('--pico-muted-color');
  const grid = { stroke: colour('--pico-muted-border-color'), width: 1 };
  const scale = (least) => ({ range: (_plot, _min, max) => [0, Math.max(least, max * 1.1)] });
  const options = {
    width: place.clientWidth,
    height: HEIGHT,
    series: [{ label: 'last hour', value: (_plot, at) => (at === null ? '' : clock(at)) }, ...series],
    axes: [
      { stroke, grid, size: 24, space: 80, values: (_plot, times) => times.map(clock) },
      { stroke, grid, size: 40, scale: 'left', space: 25 },
      { stroke: series.at(-1).stroke, grid: { show: false }, size: 50, scale: 'right', side: 1, space: 25 },
    ],
    scales: {
      x: { range: () => [first, last] },
      left: scale(1),
      right: scale(10),
    },
    cursor: { y: false, sync: { key: 'hour' } },
  };
  drawn.get(place)?.destroy();
  drawn.set(place, new uPlot(options, [columns.times, ...lines.map(([column]) => columns[column])], place));
}

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch('api/series').catch(() => undefined);
  if (!answer?.ok) return;
  const columns = await answer.json();
  for (const place of document.querySelectorAll('[data-plot]')) draw(place, columns);
}

refresh();
setInterval(refresh, AGAIN_MS);
for (const event of ['resize', 'visibilitychange']) addEventListener(event, refresh);
