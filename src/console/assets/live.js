// Updates the page: the server sends the live part again whenever something in it changes.
import { addCopyButtons } from './ids.js';
import { localize } from './times.js';

const live = document.getElementById('live');
const state = document.querySelector('[data-live-state]');
const stream = new EventSource(live.dataset.events);

stream.addEventListener('open', () => showState('Live'));
stream.addEventListener('error', () => {
  showState(
    stream.readyState === EventSource.CLOSED
      ? 'Not updating: reload the page'
      : 'Connection lost, reconnecting',
  );
});
stream.addEventListener('parts', ({ data }) => replace(data));

function showState(word) {
  if (state !== null && state.textContent !== word) state.textContent = word;
}

/** Replaces only the sections that differ, so that scroll positions and the focus are kept. */
function replace(text) {
  const next = new DOMParser().parseFromString(text, 'text/html').body;
  const parts = [...next.children];
  const ids = new Set(parts.map(({ id }) => id));
  for (const gone of [...live.children].filter(({ id }) => !ids.has(id))) gone.remove();
  let before = null;
  for (const part of parts) before = place(part, before);
}

/** Shows a section behind the one `before`, and returns the element that shows it. */
function place(part, before) {
  const held = document.getElementById(part.id);
  if (held !== null && meaning(held) === meaning(part)) return held;
  localize(part);
  addCopyButtons(part);
  if (held === null) {
    if (before === null) live.prepend(part);
    else before.after(part);
    return part;
  }
  const focus = placeOf(held);
  const scrolled = [...held.querySelectorAll('.scroll')].map(({ scrollLeft }) => scrollLeft);
  mark(held, part);
  held.replaceWith(part);
  [...part.querySelectorAll('.scroll')].forEach((region, index) => {
    region.scrollLeft = scrolled[index] ?? 0;
  });
  if (focus !== null) part.querySelectorAll('a, button, [tabindex]')[focus]?.focus({ preventScroll: true });
  return part;
}

/** Returns a section's HTML without what scripts write into it: times of the reader's zone, ages and buttons. */
function meaning(part) {
  const copy = part.cloneNode(true);
  for (const time of copy.querySelectorAll('time')) time.textContent = '';
  for (const button of copy.querySelectorAll('.copy')) button.remove();
  for (const box of copy.querySelectorAll('[data-copied]')) box.removeAttribute('data-copied');
  for (const fresh of copy.querySelectorAll('.fresh')) fresh.classList.remove('fresh');
  return copy.innerHTML.replaceAll(' class=""', '');
}

function placeOf(part) {
  const places = [...part.querySelectorAll('a, button, [tabindex]')];
  const place = places.indexOf(document.activeElement);
  return place === -1 ? null : place;
}

/** Marks new rows, which the stylesheet tints for a moment unless the user prefers reduced motion. */
function mark(held, part) {
  const before = new Set([...held.querySelectorAll('tbody tr')].map(meaning));
  for (const row of part.querySelectorAll('tbody tr'))
    if (!before.has(meaning(row))) row.classList.add('fresh');
}
