// Adds a button to each id that copies it. In tables the buttons are not in the order of the Tab key, which would
// otherwise stop at every id of every row; the page of a record has the same ids with buttons that are.

const spoken = document.createElement('p');
spoken.className = 'unseen';
spoken.setAttribute('role', 'status');
document.body.append(spoken);

/** Adds the buttons to an element that is to be shown. */
export function addCopyButtons(root) {
  for (const box of root.querySelectorAll('.id[data-id]')) {
    if (box.querySelector('.copy') !== null) continue;
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.title = 'Copy';
    button.setAttribute('aria-label', `Copy ${box.dataset.id}`);
    if (box.closest('tbody') !== null) button.tabIndex = -1;
    box.append(button);
  }
}

addCopyButtons(document);

document.addEventListener('click', async ({ target }) => {
  const box = target.closest('.id[data-id]');
  // A link leads to its page; everything else of an id copies it.
  if (box === null || target.closest('a') !== null) return;
  // A reader who selects a part of the id wants only that part.
  if (target.closest('.copy') === null && String(getSelection()) !== '') return;
  const done = await copied(box.dataset.id);
  spoken.textContent = done ? `Copied ${box.dataset.id}` : 'Not copied: the browser does not allow it';
  box.dataset.copied = done ? 'Copied' : 'Not copied';
  setTimeout(() => delete box.dataset.copied, 1_500);
});

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page without TLS has no clipboard unless it is of this machine.
    return copiedBySelecting(text);
  }
}

function copiedBySelecting(text) {
  const field = document.createElement('textarea');
  field.className = 'unseen';
  field.value = text;
  const before = document.activeElement;
  document.body.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  before?.focus();
  return done;
}
