// Says whether the page follows what happens, lets a reader hold it still, and shows times in the reader's zone.

const sign = document.querySelector('#live');

/** @param {string} text */
function say(text) {
  if (sign) Object.assign(sign, { textContent: text, hidden: false });
}

document.addEventListener('htmx:sse:after:connection', () => say('live'));
document.addEventListener('htmx:sse:error', () => say('not connected'));
document.addEventListener('htmx:sse:close', () => say('not connected'));

// A page keeps its content (`noSwap`) when its refresh is refused with 5xx, as while the database cannot be reached.
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

// Times come in UTC, with the exact UTC as their title. Readers get them in their own zone, and so are the fields of filters.

const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();

function localise(root) {
  const today = new Date().toDateString();
  for (const element of root.querySelectorAll('time')) {
    const time = new Date(element.dateTime);
    element.textContent = time.toDateString() === today ? time.toLocaleTimeString() : time.toLocaleString();
  }
  for (const element of root.querySelectorAll('[data-zone]')) element.textContent = timeZone;
}

localise(document);
const fields = [...document.querySelectorAll('[type=datetime-local]')];
for (const field of fields) {
  const time = new Date(field.valueAsNumber); // what the field says, as if it were in UTC; without a time, it stays empty
  field.valueAsNumber = time - time.getTimezoneOffset() * 60_000;
}
document.addEventListener('formdata', ({ formData }) => {
  for (const { name, value } of fields) if (value) formData.set(name, new Date(value).toISOString());
});
