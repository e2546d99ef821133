/**
 * The script of the start page. It updates the live parts every second while the page is visible, and copies texts.
 * Without it the page works the same, but must be reloaded and texts selected by hand.
 */
export const startScript = `'use strict';
const state = document.getElementById('live-state');
const say = (words) => {
  if (state !== null && state.textContent !== words) state.textContent = words;
};

function replace(text) {
  const next = new DOMParser().parseFromString(text, 'text/html');
  for (const part of next.querySelectorAll('[data-live]')) {
    const shown = document.getElementById(part.id);
    if (shown === null || shown.innerHTML === part.innerHTML) continue;
    const region = shown.querySelector('.scroll');
    const focused = region !== null && region === document.activeElement;
    const left = region === null ? 0 : region.scrollLeft;
    shown.replaceChildren(...part.childNodes);
    const fresh = shown.querySelector('.scroll');
    if (fresh !== null) fresh.scrollLeft = left;
    if (fresh !== null && focused) fresh.focus({ preventScroll: true });
  }
}

async function update() {
  try {
    const answer = await fetch('/_sandbox/start', { cache: 'no-store' });
    if (!answer.ok) throw new Error(String(answer.status));
    replace(await answer.text());
    say('Updates by itself.');
  } catch {
    say('The sandbox does not answer. Retrying.');
  }
}

async function follow() {
  if (!document.hidden) await update();
  setTimeout(follow, 1000);
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}
follow();
`;
