// Updates the page: the server sends the live part again whenever something in it changes.

const live = document.getElementById('live');
const state = document.querySelector('[data-live-state]');
const stream = new EventSource('/events');

stream.addEventListener('open', () => showState('Live'));
stream.addEventListener('error', () => {
  showState(
    stream.readyState === EventSource.CLOSED
      ? 'Not updating: reload the page'
      : 'Connection lost, reconnecting',
  );
});
stream.addEventListener('overview', ({ data }) => replace(data));

function showState(word) {
  if (state !== null && state.textContent !== word) state.textContent = word;
}

/** Replaces only the sections that differ, so that scroll positions and the focus are kept. */
function replace(text) {
  const next = new DOMParser().parseFromString(text, 'text/html').body;
  for (const part of [...next.children]) {
    const held = document.getElementById(part.id);
    if (held === null) {
      live?.append(part);
      continue;
    }
    if (meaning(held) === meaning(part)) continue;
    const focus = placeOf(held);
    const scrolled = [...held.querySelectorAll('.scroll')].map(({ scrollLeft }) => scrollLeft);
    mark(held, part);
    held.replaceWith(part);
    [...part.querySelectorAll('.scroll')].forEach((region, index) => {
      region.scrollLeft = scrolled[index] ?? 0;
    });
    if (focus !== null) part.querySelectorAll('a, button, [tabindex]')[focus]?.focus({ preventScroll: true });
  }
}

/** Returns a section's HTML without its ages, which change by themselves. */
function meaning(part) {
  const copy = part.cloneNode(true);
  for (const time of copy.querySelectorAll('time[data-age]')) time.textContent = '';
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
