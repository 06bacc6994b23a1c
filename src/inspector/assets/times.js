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
