import './plots.js';

// `/` goes to the search, `j` and `k` to the next and previous row, `r` replays: this event, or that of the row.

const EVENT = /^events\/[^/?]+$/;

function rows() {
  return [...document.querySelectorAll('[data-row]')];
}

/** @param {Element} row */
function handleOf(row) {
  const handle = row.matches('[tabindex]') ? row : row.querySelector('a');
  return handle instanceof HTMLElement ? handle : undefined;
}

/** @param {number} step */
function move(step) {
  const all = rows();
  const at = all.findIndex((row) => row.contains(document.activeElement));
  const row =
    all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  if (!row) return;
  handleOf(row)?.focus();
  row.scrollIntoView({ block: 'nearest' });
}

function replay() {
  const form = document.querySelector('form[data-replay]');
  if (form instanceof HTMLFormElement) {
    if (confirm('Replay this event? Its handler runs again.')) form.requestSubmit();
    return;
  }
  const path = document.activeElement?.closest('[data-row]')?.querySelector('a')?.getAttribute('href') ?? '';
  if (EVENT.test(path) && confirm('Replay this event? Its handler runs again.')) submit(`${path}/replay`);
}

/** @param {string} action */
function submit(action) {
  const form = Object.assign(document.createElement('form'), { method: 'post', action });
  document.body.append(form);
  form.requestSubmit();
}

document.addEventListener('keydown', (event) => {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (target instanceof Element && target.closest('input, select, textarea, [contenteditable]')) {
    if (key === 'Escape' && target instanceof HTMLElement) target.blur();
    return;
  }
  if (key === '/') {
    event.preventDefault();
    const search = document.querySelector('#search');
    if (search instanceof HTMLElement) search.focus();
    else location.assign('events#search');
  } else if (key === 'j') move(1);
  else if (key === 'k') move(-1);
  else if (key === 'r') replay();
});

if (location.hash === '#search') document.querySelector('#search')?.focus();

// Times come in UTC; readers get them in their own zone, with the exact UTC on hover (the title they came with).

const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const today = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

/** @param {ParentNode} root */
function localise(root) {
  const now = new Date().toDateString();
  for (const element of root.querySelectorAll('time[datetime]')) {
    const time = new Date(element.getAttribute('datetime') ?? '');
    element.textContent = (time.toDateString() === now ? today : zoned).format(time);
  }
}

localise(document);
document.addEventListener('htmx:after:swap', () => localise(document));
