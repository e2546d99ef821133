// Says that a page is loading when that takes longer than a moment.

const momentMillis = 300;
let timer;
let words;

function begin(text) {
  end();
  timer = setTimeout(() => {
    words = document.createElement('p');
    words.className = 'pending';
    words.setAttribute('role', 'status');
    document.body.append(words);
    words.textContent = text;
    document.getElementById('main')?.setAttribute('aria-busy', 'true');
  }, momentMillis);
}

function end() {
  clearTimeout(timer);
  words?.remove();
  document.getElementById('main')?.removeAttribute('aria-busy');
}

/** A download leaves the page open and never says when it ends, as does a script that prevents the usual way. */
const leaves = (event, element) => !event.defaultPrevented && element?.closest('[data-download]') === null;

document.addEventListener('submit', (event) => {
  if (leaves(event, event.submitter ?? event.target)) begin('Loading…');
});

document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href]');
  if (link === null || !leaves(event, link) || link.target !== '') return;
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const { origin, pathname, search } = new URL(link.href);
  if (origin !== location.origin) return;
  // A link within the page loads nothing.
  if (link.hash !== '' && pathname === location.pathname && search === location.search) return;
  begin('Loading…');
});

// The page that the back button brings back is as it was left.
addEventListener('pageshow', end);
addEventListener('pagehide', end);
