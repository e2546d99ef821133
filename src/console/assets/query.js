// Ctrl + Enter in the SQL box runs the query. Tab keeps its usual effect, so that keyboard users can leave the box.

const box = document.getElementById('sql');

box?.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  box.form.requestSubmit(box.form.querySelector('button[value="run"]'));
});

// The chosen date becomes part of the address, so that the page can be shared. The statement never does.

const date = box?.form.querySelector('input[name="as-of"]');

date?.addEventListener('change', () => {
  const address = new URL(location.href);
  if (date.value === '') address.searchParams.delete('as-of');
  else address.searchParams.set('as-of', date.value);
  address.searchParams.delete('query');
  history.replaceState(null, '', address);
  box.form.action = `${address.pathname}${address.search}`;
});
