// Says whether the page follows what happens, and lets a reader hold it still.

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
