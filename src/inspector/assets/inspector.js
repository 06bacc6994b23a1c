// Says whether the page follows what happens, lets a reader hold it still, and shows times in the reader's zone.

const sign = document.querySelector('#live');

/** @param {string} text @param {string} state */
function show(text, state) {
  if (!sign) return;
  sign.removeAttribute('hidden');
  sign.textContent = text;
  sign.setAttribute('data-state', state);
}

document.addEventListener('htmx:sse:after:connection', () => show('live', 'on'));
document.addEventListener('htmx:sse:error', () => show('not connected', 'off'));
document.addEventListener('htmx:sse:close', () => show('not connected', 'off'));

// What a page shows stays (`noSwap`) when its refresh is refused with 5xx, as while the database cannot be reached.
document.addEventListener('htmx:after:request', (event) => {
  const status = event.detail?.ctx?.response?.status;
  if (status >= 500) show('out of date', 'off');
  else if (sign?.textContent === 'out of date') show('live', 'on');
});

// A list must not move while the user reads a row, types or has opened something.
document.addEventListener('htmx:before:request', (event) => {
  const part = /** @type {Element | undefined} */ (event.detail?.ctx?.sourceElement);
  const selection = getSelection();
  if (!part?.hasAttribute('data-live')) return; // the stream itself
  const isRead = selection?.toString() && part.contains(selection.anchorNode);
  if (isRead || part.querySelector('input:checked, details[open]')) event.preventDefault();
});

// Times come in UTC; readers get them in their own zone, with the exact UTC on hover (the title they came with).

const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const today = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

function localise() {
  const now = new Date().toDateString();
  for (const element of document.querySelectorAll('time[datetime]')) {
    const time = new Date(element.getAttribute('datetime') ?? '');
    element.textContent = (time.toDateString() === now ? today : zoned).format(time);
  }
}

localise();
document.addEventListener('htmx:after:swap', localise);
