// Shows what happened since the page was loaded: the server sends the live part anew when something in it changed.

const live = document.getElementById('live');
const state = document.querySelector('[data-live-state]');
const stream = new EventSource('/events');

stream.addEventListener('open', () => say('Live'));
stream.addEventListener('error', () => {
  say(
    stream.readyState === EventSource.CLOSED
      ? 'Standing still: load the page again'
      : 'Not connected, trying again',
  );
});
stream.addEventListener('overview', ({ data }) => replace(data));

function say(word) {
  if (state !== null && state.textContent !== word) state.textContent = word;
}

/** Section by section, and only those that differ, so that scrolled tables and the focus stay where they are. */
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

/** Ages tick by themselves and are no news. */
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

/** Rows that were not there before are tinted for a moment, unless the reader wants no motion. */
function mark(held, part) {
  const before = new Set([...held.querySelectorAll('tbody tr')].map(meaning));
  for (const row of part.querySelectorAll('tbody tr'))
    if (!before.has(meaning(row))) row.classList.add('fresh');
}
