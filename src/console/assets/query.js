// Ctrl + Enter in the SQL box runs the query. Tab keeps its usual effect, so that keyboard users can leave the box.

const box = document.getElementById('sql');

box?.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  box.form.requestSubmit(box.form.querySelector('button[value="run"]'));
});
