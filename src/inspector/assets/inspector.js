// Says whether the page follows what happens, lets a reader hold it still, and shows times in the reader's zone.

const sign = document.querySelector('#live');

/** @param {string} text */
function say(text) {
  if (sign) Object.assign(sign, { textContent: text, hidden: false });
}

document.addEventListener('htmx:sse:after:connection', () => say('live'));
document.addEventListener('htmx:sse:error', () => say('not connected'));
document.addEventListener('htmx:sse:close', () => say('not connected'));

// What a page shows stays (`noSwap`) when its refresh is refused with 5xx, as while the database cannot be reached.
document.addEventListener('htmx:after:request', (event) => {
  const status = event.detail?.ctx?.response?.status;
  if (status >= 500) say('out of date');
  else if (sign?.textContent === 'out of date') say('live');
});

// A list must not move while the user reads a row, types or has opened something.
document.addEventListener('htmx:before:request', (event) => {
  const part = /** @type {Element | undefined} */ (event.detail?.ctx?.sourceElement);
  const selection = getSelection();
  if (!part?.hasAttribute('data-live')) return; // the stream itself
  const isRead = selection?.toString() && part.contains(selection.anchorNode);
  if (isRead || part.querySelector('input:checked, input:focus, details[open]')) event.preventDefault();
});

// New rows wait for a click, and rows that match no more stay: a list does not move under a reader's eyes.
document.addEventListener('htmx:before:swap', ({ detail: { ctx, tasks } }) => {
  const fragment = tasks[0]?.fragment;
  if (!fragment) return;
  localise(fragment);
  const body = ctx.sourceElement.id === 'list' && fragment.querySelector('tbody');
  const rows = [...ctx.sourceElement.querySelectorAll('tbody tr')];
  const again = (row) =>
    body.querySelector(`[id="${row.id}"]`) ?? Object.assign(row.cloneNode(true), { className: 'gone' });
  if (body && rows.length > 0) body.replaceChildren(...rows.map(again));
});

// Times come in UTC, with the exact UTC as their title. Readers get them in their own zone, or in UTC at a click.

/** What times and fields show; undefined is the reader's own zone. */
let zone = 'UTC';
const button = document.querySelector('#zone');
const fields = [...document.querySelectorAll('[type=datetime-local]')];

function localise(root) {
  const now = Date.now();
  const format = (options, locale) => new Intl.DateTimeFormat(locale, { ...options, timeZone: zone });
  const whole = format({ dateStyle: 'medium', timeStyle: 'medium' });
  const clock = format({ timeStyle: 'medium' });
  const day = format({ dateStyle: 'short' });
  const offset = format({ timeZoneName: 'longOffset' }, 'en');
  const offsetAt = (time) => `UTC${offset.format(time).split('GMT')[1].replace('+00:00', '')}`;
  for (const element of root.querySelectorAll('time[datetime]')) {
    const time = Date.parse(element.getAttribute('datetime') ?? '');
    const text = (day.format(time) === day.format(now) ? clock : whole).format(time);
    const isUsual = offsetAt(time) === offsetAt(now); // not of another season
    element.textContent = isUsual ? text : `${text} ${offsetAt(time)}`;
  }
  for (const element of root.querySelectorAll('[data-zone]')) element.textContent = offsetAt(now);
}

/** The time that a field shows, milliseconds since the epoch; NaN if it is empty. */
const timeOf = ({ value }) => Date.parse(zone === 'UTC' ? `${value}Z` : value);

function show(next) {
  const times = fields.map(timeOf);
  zone = next;
  for (const [index, field] of fields.entries()) {
    const time = times[index];
    if (Number.isNaN(time)) continue;
    const minutes = zone === 'UTC' ? 0 : new Date(time).getTimezoneOffset();
    field.value = new Date(time - minutes * 60_000).toISOString().slice(0, 19);
  }
  localise(document);
}

show(localStorage.getItem('zone') ?? undefined);
button?.removeAttribute('hidden');
button?.addEventListener('click', () => {
  if (zone === 'UTC') localStorage.removeItem('zone');
  else localStorage.setItem('zone', 'UTC');
  show(localStorage.getItem('zone') ?? undefined);
});
document.addEventListener('formdata', ({ formData }) => {
  for (const field of fields)
    if (formData.get(field.name)) formData.set(field.name, new Date(timeOf(field)).toISOString());
});
